import type {
  Base,
  Batch,
  LogRecord,
  NewAlias,
  OutboxMark,
  ReferenceMark,
  RequestMark,
  RunRow,
  ScheduleMark,
  WaitMark,
} from "../../ports/log-batch.ts";
import type { AuditMark } from "../../ports/audit.ts";
import type { SpentMark } from "../../ports/spending.ts";
import type { StatisticsEntry } from "../../ports/statistics.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import type { GrowingTexts } from "../../protocol/events/texts.ts";
import type { Json } from "../../protocol/json.ts";
import type { Gathering } from "./text-window.ts";

/** A batch that collects entries, and the promise of its commit. */
export interface OpenBatch extends Batch {
  events: (string | GrowingTexts)[];
  records: LogRecord[];
  requests?: RequestMark[];
  references?: ReferenceMark[];
  waits?: WaitMark[];
  outbox?: OutboxMark[];
  schedules?: ScheduleMark[];
  audit?: AuditMark[];
  spent?: SpentMark[];
  statistics?: StatisticsEntry[];
  run?: RunRow;
  snapshot?: Json;
  /** Makes the snapshot when the batch is complete. */
  toSnapshot?: () => Json;
  alias?: NewAlias;
  base?: Base;
  /** Whether it holds anything that must not wait for the group commit. */
  urgent: boolean;
  /** The window in which texts are gathered; absent when the batch does not wait for further texts. */
  window: Gathering | undefined;
  /** What its texts take of the room for those that gather, in characters. */
  gathered: number;
  /**
   * Set when it holds a WaitForInput. The commit is then delayed by a turn of the event loop, in which the
   * code can start other work, so that the commit can record whether the turn is parked.
   */
  patient?: boolean;
  /** The promise of the commit, created for the first caller that waits for it. */
  done?: PromiseWithResolvers<void>;
}

export function newPending(): OpenBatch {
  return { events: NO_EVENTS, records: NO_RECORDS, urgent: false, window: undefined, gathered: 0 };
}

/**
 * Adds an event to a batch. Most batches have one, and an array literal of one is ten times smaller than a
 * grown one.
 */
export function addEvent(pending: OpenBatch, event: string | GrowingTexts): void {
  if (pending.events === NO_EVENTS) pending.events = [event];
  else pending.events.push(event);
}

/** A text and its speaker. Successive texts of one speaker differ only in id, time and content. */
export interface NewText {
  readonly speaker: Speaker;
  /** The fields after the content, encoded. */
  readonly ending: string;
  readonly content: string;
}

/** Adds a text to a batch: to its last texts, if they are of the same speaker. */
export function appendText(pending: OpenBatch, id: number, at: number, text: NewText): void {
  const { speaker, ending, content } = text;
  const last = pending.events.at(-1);
  if (typeof last === "object" && last.speaker === speaker && last.ending === ending) {
    last.said.push(at - last.at, content);
  } else {
    addEvent(pending, { speaker, ending, first: id, at, said: [0, content] });
  }
}

/** Adds a journal entry to a batch. */
export function addRecord(pending: OpenBatch, record: LogRecord): void {
  if (pending.records === NO_RECORDS) pending.records = [record];
  else pending.records.push(record);
}

/** Rejects the promise of a batch that was not committed. */
export function rejectPending({ done }: OpenBatch, toError: () => unknown): void {
  if (done === undefined) return;
  // A failed commit is reported to the run, so this rejection may stay unhandled.
  done.promise.catch(() => {});
  done.reject(toError());
}

/** A promise that is rejected because the recorder has stopped. */
export function notCommitted(toError: () => unknown): Promise<void> {
  const done = Promise.withResolvers<void>();
  rejectPending({ ...newPending(), done }, toError);
  return done.promise;
}

const NO_EVENTS: never[] = [];
const NO_RECORDS: LogRecord[] = [];
