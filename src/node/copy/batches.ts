import { Unavailable } from "../../ports/event-log.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type {
  OutboxEntry,
  RequestEntry,
  RunEntry,
  ScheduleEntry,
  WaitEntry,
} from "../../ports/log-entries.ts";
import type { Batch, RequestMark, RunRow } from "../../ports/log-batch.ts";
import { countEvents } from "../../protocol/events/texts.ts";
import type { RunId, RequestId } from "../../protocol/ids.ts";

/** A position in a run: after an event and a record. */
interface Position {
  readonly head: number;
  readonly records: number;
}

/**
 * What is appended to a copy that has everything up to a position, so that it becomes the run. Only the last batch has the
 * row, so a run with its row is complete.
 */
export function batchesOf(log: EventLog, run: RunEntry, from: Position): AsyncGenerator<Batch, void> {
  return join(partsOf(log, run, from));
}

/** The ids of the requests of a removed run. */
export function removedBatchesOf(log: EventLog, runId: RunId): AsyncGenerator<Batch, void> {
  return join(marksOf(log, runId));
}

/** Joins parts that follow one another into a batch, as long as no two are of the same kind. */
async function* join(parts: AsyncIterable<Partial<Batch>>): AsyncGenerator<Batch, void> {
  let batch: Partial<Batch> = {};
  for await (const part of parts) {
    if (Object.keys(part).some((name) => name in batch)) {
      yield { ...NOTHING, ...batch };
      batch = {};
    }
    batch = { ...batch, ...part };
  }
  yield { ...NOTHING, ...batch };
}

const NOTHING = { events: [], records: [] };

async function* partsOf(log: EventLog, run: RunEntry, from: Position): AsyncGenerator<Partial<Batch>, void> {
  const { runId } = run;
  yield* entriesOf(log, runId, from);
  yield* marksOf(log, runId);
  const { aliases, references } = await log.holdings(runId);
  for (const alias of aliases) yield { alias };
  yield {
    waits: await readOpenWaits(log, runId),
    outbox: await readOutbox(log, runId),
    schedules: await readSchedules(log, runId),
    references: references.map((thing) => ({ thing })),
    run: toRow(run),
  };
}

/** The events and records behind a position, with the snapshot where it belongs. */
async function* entriesOf(log: EventLog, runId: RunId, from: Position): AsyncGenerator<Partial<Batch>, void> {
  const newest = await log.snapshot(runId);
  for (let at = from; ;) {
    // A snapshot covers everything up to the end of its batch, so a batch ends there.
    const snapshot = newest !== undefined && isBefore(at, newest) ? newest : undefined;
    const left = snapshot === undefined ? Infinity : snapshot.head - at.head;
    const page = await log.read(runId, {
      after: at.head,
      afterRecord: at.records,
      records: true,
      limit: Math.max(Math.min(left, PAGE_EVENTS), 1),
      limitBytes: PAGE_BYTES,
    });
    if (page.base) {
      const { head: begins, records: recorded } = page.base;
      yield { base: page.base };
      at = { head: begins, records: Math.max(recorded, at.records) };
      continue;
    }
    const events = left === 0 ? [] : page.events;
    const head = at.head + countEvents(events);
    const last = snapshot?.head === head ? snapshot.records : Infinity;
    const records = page.records.filter(({ n, after }) => n <= last && after <= head);
    const end = { head, records: records.at(-1)?.n ?? at.records };
    const isCovered = snapshot !== undefined && !isBefore(end, snapshot);
    if (isBefore(at, end)) yield { events, records, ...(isCovered && { snapshot: snapshot.data }) };
    if (snapshot === undefined && page.cut !== true && head >= page.head) return;
    if (!isBefore(at, end)) throw new Unavailable("a part of it is missing in the log");
    at = end;
  }
}

function isBefore(a: Position, b: Position): boolean {
  return a.head < b.head || (a.head === b.head && a.records < b.records);
}

async function* marksOf(log: EventLog, runId: RunId): AsyncGenerator<Partial<Batch>, void> {
  for await (const page of requestsOf(log, runId)) yield { requests: page.map(toMark) };
}

function toMark({ runId: _runId, owner: _owner, removed: _removed, ...mark }: RequestEntry): RequestMark {
  return mark;
}

/** The row without what an engine adds to it. */
function toRow({
  runId: _runId,
  head: _head,
  alias: _alias,
  openWaits: _openWaits,
  queued: _queued,
  wakeAt: _wakeAt,
  node: _node,
  removed: _removed,
  ...row
}: RunEntry): RunRow {
  return row;
}

const PAGE_EVENTS = 10_000;
const PAGE_BYTES = 1_048_576;

/** The requests of a run in pages, the one that was accepted first first; also those of a removed run. */
export async function* requestsOf(
  log: EventLog,
  runId: RunId,
): AsyncGenerator<readonly RequestEntry[], void> {
  const query = { runId, limit: PAGE, oldestFirst: true, removed: true } as const;
  for (let after: RequestId | undefined; ;) {
    const page = await log.requests({ ...query, ...(after !== undefined && { after }) });
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.requestId;
  }
}

/** The open waits of a run. */
export async function readOpenWaits(log: EventLog, runId: RunId): Promise<readonly WaitEntry[]> {
  const found: WaitEntry[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await log.waits({ runId, limit: PAGE, ...(cursor !== undefined && { cursor }) });
    found.push(...page.waits);
    cursor = page.next;
    if (cursor === undefined) return found;
  }
}

/** The outbox of a run: what is to be sent, and the dead letters. */
export async function readOutbox(log: EventLog, runId: RunId): Promise<readonly OutboxEntry[]> {
  return [...(await log.outbox({ runId })), ...(await log.outbox({ runId, kind: "dead" }))];
}

/** The schedules of a run. */
export async function readSchedules(log: EventLog, runId: RunId): Promise<readonly ScheduleEntry[]> {
  const found: ScheduleEntry[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await log.schedules({ runId, limit: PAGE, ...(cursor !== undefined && { cursor }) });
    found.push(...page.schedules);
    cursor = page.next;
    if (cursor === undefined) return found;
  }
}

const PAGE = 500;
