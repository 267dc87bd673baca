import type { Page } from "../../ports/event-log.ts";
import type { OutboxEntry, RunEntry, Snapshot, WaitEntry, RequestEntry } from "../../ports/log-entries.ts";
import type { LogRecord, RunRow } from "../../ports/log-batch.ts";
import type { ReadOptions } from "../../ports/log-queries.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { countEvents, toEncoded } from "../../protocol/events/texts.ts";
import { EventList } from "../shared/event-list.ts";

/** A run and its part of the log. */
export interface MemoryRun {
  /** The current claim; 0 if there is none. */
  epoch: number;
  /** The node with the current claim, if it has an id. */
  owner?: string | undefined;
  readonly events: EventList;
  readonly records: LogRecord[];
  readonly requests: Set<RequestId>;
  /** Created with the first. */
  aliases?: Set<string>;
  /** The things outside the log that it refers to; created with the first. */
  references?: Set<string>;
  /** The open waits by id; created with the first. */
  waits?: Map<number, WaitEntry>;
  /** The entries of its outbox that are not done; created with the first. */
  outbox?: OutboxEntry[];
  row?: RunRow;
  snapshot?: Snapshot;
}

export function newRun(): MemoryRun {
  return {
    epoch: 0,
    events: new EventList(0),
    records: [],
    requests: new Set(),
  };
}

/** What the list of runs shows of a run besides its row. */
export function toEntry(
  runId: RunId,
  { events, aliases = NO_ALIASES, row, requests, waits, owner }: MemoryRun,
  lookup: (requestId: RequestId) => RequestEntry | undefined,
): Omit<RunEntry, keyof RunRow> {
  const [first] = aliases.size > 1 ? [...aliases].sort() : aliases;
  // The names of agents have no spaces.
  const alias = first?.slice(first.indexOf(" ") + 1);
  const entry = {
    runId,
    head: events.head,
    ...(alias !== undefined && { alias }),
    ...(owner !== undefined && { owner }),
  };
  if (row === undefined || row.status === "idle") return entry;
  let queued = 0;
  for (const requestId of requests) if (lookup(requestId)?.phase === "queued") queued += 1;
  const wakeAt = row.started === undefined ? undefined : lookup(row.started)?.wakeAt;
  return {
    ...entry,
    ...(waits !== undefined && waits.size > 0 && { openWaits: waits.size }),
    ...(queued > 0 && { queued }),
    ...(wakeAt !== undefined && { wakeAt }),
  };
}

const NO_ALIASES = new Set<string>();

/** The size of a run's entries in characters; most characters take one byte. */
export function sizeOf({ events, records }: MemoryRun): number {
  const characters = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length, 0);
  return (
    characters(toEncoded(events.read({ after: 0 }))) +
    characters(records.map((record) => JSON.stringify(record)))
  );
}

/** Reads a page of the events of a run. */
export function readPage(run: MemoryRun, options: ReadOptions): Page {
  const { after, records = false, afterRecord = 0 } = options;
  const events = run.events.read(options);
  return {
    events,
    records: records ? recordsBetween(run.records, after, after + countEvents(events), afterRecord) : [],
    head: run.events.head,
  };
}

/** The records with a greater number than `afterRecord` whose `after` is between `from` and `to`, both included. */
function recordsBetween(
  records: readonly LogRecord[],
  from: number,
  to: number,
  afterRecord: number,
): readonly LogRecord[] {
  // Record n is at index n - 1.
  return records.slice(Math.max(firstFrom(records, from), afterRecord), firstFrom(records, to + 1));
}

/** The index of the first record whose `after` is `id` or greater. */
function firstFrom(records: readonly LogRecord[], id: number): number {
  let low = 0;
  let high = records.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((records[middle]?.after ?? id) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
