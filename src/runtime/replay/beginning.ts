import { AgentError } from "../../errors.ts";
import { checkReadable } from "../../ports/encryption.ts";
import type { EventLog, Page } from "../../ports/event-log.ts";
import type { Base, RecordPosition } from "../../ports/log-batch.ts";
import type { ReadOptions } from "../../ports/log-queries.ts";
import { idOf } from "../../protocol/events/encode.ts";
import { countEvents, toEncoded } from "../../protocol/events/texts.ts";
import type { LoggedEvents } from "../../protocol/events/texts.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { PlacedRecord } from "./entries.ts";
import type { RunState } from "./run-state.ts";

/** What a run keeps of the removed beginning of its log: plain data, which its base has. */
export interface Beginning {
  /** The state of the run at the last event that was removed. */
  readonly state: RunState;
  /** The events that are still needed, encoded and in their order. */
  readonly events: readonly string[];
  /** The records that are still needed, in their order. */
  readonly records: readonly PlacedRecord[];
}

export function toBeginning({ data }: Base): Beginning {
  return data as unknown as Beginning;
}

/** Where the log of a run begins; `undefined` if that is with its first event. */
export async function readBase(log: Pick<EventLog, "read">, runId: RunId): Promise<Base | undefined> {
  return (await log.read(runId, { after: 0, limit: 1 })).base;
}

/** Reads an event by its id; `undefined` if the log no longer has it. */
export async function readOne(
  log: Pick<EventLog, "read">,
  runId: RunId,
  id: number,
  options: Pick<ReadOptions, "batched"> = {},
): Promise<string | undefined> {
  const { events, base } = await log.read(runId, { after: id - 1, limit: 1, ...options });
  const [text] = base ? toBeginning(base).events.filter((event) => idOf(event) === id) : toEncoded(events);
  checkReadable(runId, text);
  return text;
}

/** Reads a record by its position; `undefined` if the log no longer has it. */
export async function readRecord(
  log: EventLog,
  runId: RunId,
  { n, after }: RecordPosition,
): Promise<PlacedRecord | undefined> {
  const page = await log.read(runId, { after, limit: 1, records: true, afterRecord: n - 1 });
  const kept = page.base ? toBeginning(page.base).records : [];
  const records = [...kept, ...(page.records as unknown as readonly PlacedRecord[])];
  const found = records.find((record) => record.n === n);
  checkReadable(runId, found);
  return found;
}

/** What a reader behind an event gets: of a removed beginning first what is kept of it, with a page of its own. */
export function toShown(
  { events, base }: Page,
  after: number,
  limit: number = Infinity,
): { readonly events: LoggedEvents; readonly cursor: number } {
  if (base === undefined) return { events, cursor: after + countEvents(events) };
  const kept = toBeginning(base).events.filter((text) => idOf(text) > after);
  const shown = kept.slice(0, limit);
  const last = shown.at(-1);
  return { events: shown, cursor: shown.length < kept.length && last ? idOf(last) : base.head };
}

/** The error for a question about what was removed. */
export function toForgotten(runId: RunId, { head }: Base): AgentError {
  return new AgentError(
    "gone",
    `run ${runId} begins behind event ${head}: retention has removed what was before`,
  );
}
