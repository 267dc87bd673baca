import type { Batch, RequestMark } from "../../../ports/log-batch.ts";
import type { OwnedRun } from "./claims.ts";
import type { Changes, RequestChange, RunChange } from "./message.ts";
import { countEvents } from "../../../protocol/events/texts.ts";
import { encodeBody } from "../../sql/body.ts";
import { encodeMark } from "../../sql/rows.ts";
import { REQUEST_PHASES, RUN_PHASES } from "../format/schema.ts";

/** An encoded append. */
export interface Append {
  readonly position: readonly [first: number, last: number, recordsEnd: number];
  /** The events, joined by line breaks. */
  readonly body: string;
  /** The records as JSON. */
  readonly records: string | null;
  readonly changes: Changes | null;
  /** Whether it shares a row with appends of other runs. */
  readonly isRecent: boolean;
  /** The bytes of the body, known when it is sent to the writer. */
  bytes: number;
}

/** Encodes an append for the writer. */
export function encodeAppend(run: OwnedRun, batch: Batch): Append {
  const { events, records } = batch;
  const changes =
    batch.run !== undefined ||
    batch.requests !== undefined ||
    batch.references !== undefined ||
    batch.waits !== undefined ||
    batch.outbox !== undefined ||
    batch.alias !== undefined ||
    batch.snapshot !== undefined;
  const body = encodeBody(events);
  return {
    position: [run.head + 1, run.head + countEvents(events), run.records + records.length],
    body,
    records: records.length === 0 ? null : JSON.stringify(records),
    changes: changes ? encodeChanges(run, batch) : null,
    isRecent: !changes && records.length === 0 && events.length > 0 && body.length <= RECENT_CHARACTERS,
    bytes: 0,
  };
}

/** Longer appends become chunks at once, because their bytes cost more than the row. */
const RECENT_CHARACTERS = 4_096;

function encodeChanges(
  run: OwnedRun,
  { run: row, requests, references, waits, outbox, alias, snapshot }: Batch,
): Changes {
  return {
    ...(row !== undefined && { run: encodeRow(run, row) }),
    ...(requests !== undefined && { requests: mergeMarks(run, requests) }),
    ...(references !== undefined && { references }),
    ...(waits !== undefined && { waits }),
    ...(outbox !== undefined && { outbox }),
    ...(alias !== undefined && { alias }),
    ...(snapshot !== undefined && { snapshot: JSON.stringify(snapshot) }),
  };
}

function encodeRow(run: OwnedRun, row: NonNullable<Batch["run"]>): RunChange {
  const { agent, status, createdAt: created, updatedAt: updated, turns, started = null } = row;
  const isOwnerNew = !run.stored || agent !== run.agent || created !== run.createdAt;
  return {
    ...(!run.stored && { runId: run.runId }),
    status: RUN_PHASES.indexOf(status),
    updated,
    turns,
    started,
    ...(isOwnerNew && { owner: { agent, created } }),
    // Both values are immutable, so the same object means the same JSON.
    ...(row.metadata !== run.metadata && { metadata: JSON.stringify(row.metadata) }),
    ...(row.lastTurn !== run.lastTurn && { lastTurn: JSON.stringify(row.lastTurn ?? null) }),
    ...(row.usage !== run.usage && { usage: JSON.stringify(row.usage ?? null) }),
    ...((row.initialInput !== run.initialInput || !run.stored) && {
      initialInput: JSON.stringify(row.initialInput),
    }),
  };
}

/** Merges the marks of each request into one change. */
function mergeMarks(run: OwnedRun, marks: readonly RequestMark[]): readonly RequestChange[] {
  const [first] = marks;
  if (first !== undefined && marks.length === 1) return [toChange(run, first)];
  const merged = new Map<string, RequestMark>();
  for (const mark of marks) {
    const earlier = merged.get(mark.requestId);
    merged.set(mark.requestId, earlier === undefined ? mark : { ...earlier, ...mark });
  }
  return [...merged.values()].map((mark) => toChange(run, mark));
}

function toChange(run: OwnedRun, mark: RequestMark): RequestChange {
  const { requestId, phase } = mark;
  return [requestId, run.requests.has(requestId), REQUEST_PHASES.indexOf(phase), ...encodeMark(mark)];
}
