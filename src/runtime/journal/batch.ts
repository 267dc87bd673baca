import type { Batch, LogRecord, RequestMark, RunRow } from "../../ports/event-log.ts";
import type { Json } from "../../protocol/json.ts";

/** What gathers for the next commit: a batch in the making, and whoever waits for it. */
export interface OpenBatch extends Batch {
  events: string[];
  records: LogRecord[];
  requests?: RequestMark[];
  run?: RunRow;
  snapshot?: Json;
  /** Makes the snapshot when the batch is complete. */
  toSnapshot?: () => Json;
  alias?: string;
  /** Whether it holds anything that must not wait for more to gather. */
  urgent: boolean;
  /**
   * Set when it holds a question: the code that asks gets a turn of the event loop to say what else it
   * does, so that the commit can tell whether the turn waits for its caller alone.
   */
  patient?: boolean;
  /** Made when the first one waits. */
  done?: PromiseWithResolvers<void>;
}

/** A batch with nothing in it. */
export function newPending(): OpenBatch {
  return { events: NO_EVENTS, records: NO_RECORDS, urgent: false };
}

/** Adds an event to a batch. Most batches have one, and an array of one is a tenth of one that grew. */
export function addEvent(pending: OpenBatch, text: string): void {
  if (pending.events === NO_EVENTS) pending.events = [text];
  else pending.events.push(text);
}

/** Adds a journal entry to a batch. */
export function addRecord(pending: OpenBatch, record: LogRecord): void {
  if (pending.records === NO_RECORDS) pending.records = [record];
  else pending.records.push(record);
}

/** Whether there is anything to commit. */
export function hasContent({ events, records, requests, run, alias }: OpenBatch): boolean {
  return (
    events.length > 0 ||
    records.length > 0 ||
    requests !== undefined ||
    run !== undefined ||
    alias !== undefined
  );
}

/** Resolves when a batch is committed; rejects when that failed. */
export function committedOf(pending: OpenBatch): Promise<void> {
  pending.done ??= Promise.withResolvers<void>();
  return pending.done.promise;
}

/** Tells whoever waits for a batch that it was not committed. */
export function rejectPending({ done }: OpenBatch, toError: () => unknown): void {
  if (done === undefined) return;
  // Nobody has to listen: the run's owner hears of a failed commit by itself.
  done.promise.catch(() => {});
  done.reject(toError());
}

/** The answer to whoever waits for what is never going to be committed. */
export function notCommitted(toError: () => unknown): Promise<void> {
  const done = Promise.withResolvers<void>();
  rejectPending({ ...newPending(), done }, toError);
  return done.promise;
}

const NO_EVENTS: string[] = [];
const NO_RECORDS: LogRecord[] = [];
