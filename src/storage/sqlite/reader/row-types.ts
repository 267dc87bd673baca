import type { OutboxEntry, RequestEntry, RunEntry, WaitEntry } from "../../../ports/log-entries.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import { toRemovedRequest, toRemovedEntry } from "../../shared/entries.ts";
import { toRequestFields, toRunFields } from "../../sql/rows.ts";
import type { CommonRequestColumns, CommonRunColumns } from "../../sql/rows.ts";
import { OUTBOX_KINDS, REQUEST_PHASES, RUN_PHASES } from "../format/schema.ts";

export const RUN = `run_id, removed, agent, status, created, updated, turns, metadata, initial_input, run.started,
  last_turn, usage,
  CASE WHEN status > 0 THEN (SELECT count(*) FROM wait WHERE wait.rid = run.rid) END AS open_waits,
  CASE WHEN status > 0 THEN (SELECT count(*) FROM request WHERE request.rid = run.rid AND phase = 0) END AS queued,
  CASE WHEN status > 0 THEN (SELECT wake FROM request WHERE request_id = run.started) END AS wake,
  (SELECT alias FROM alias WHERE alias.rid = run.rid ORDER BY alias LIMIT 1) AS alias,
  (SELECT last FROM chunk WHERE chunk.rid = run.rid ORDER BY last DESC LIMIT 1) AS head
  FROM run`;

export const REQUEST = `request_id, run_id, removed, phase, request.created, accepted_n, accepted_after,
  request.started, segment, completed, wake, rests, waiting_for
  FROM request JOIN run ON run.rid = request.rid`;

export const WAIT = "run_id, id, request_id, opened FROM wait JOIN run ON run.rid = wait.rid";

export const OUTBOX = "run_id, event, request_id, kind FROM outbox JOIN run ON run.rid = outbox.rid";

export interface RunRow extends CommonRunColumns {
  readonly run_id: RunId;
  readonly removed: number;
  readonly status: number;
  readonly created: number;
  readonly updated: number;
  readonly head: number | null;
  readonly wake: number | null;
}

export function toRun(row: RunRow): RunEntry {
  if (row.removed > 0) return toRemovedEntry(row.run_id);
  return {
    runId: row.run_id,
    head: row.head ?? 0,
    ...toRunFields(row),
    status: RUN_PHASES[row.status] ?? "idle",
    createdAt: row.created,
    updatedAt: row.updated,
    ...(row.wake !== null && { wakeAt: row.wake }),
  };
}

export interface RequestRow extends CommonRequestColumns {
  readonly request_id: RequestId;
  readonly run_id: RunId;
  readonly removed: number;
  readonly phase: number;
  readonly created: number;
  readonly wake: number | null;
}

export function toRequest(row: RequestRow): RequestEntry {
  if (row.removed > 0) return toRemovedRequest(row.request_id, row.run_id);
  return {
    requestId: row.request_id,
    runId: row.run_id,
    phase: REQUEST_PHASES[row.phase] ?? "queued",
    createdAt: row.created,
    ...toRequestFields(row),
    ...(row.wake !== null && { wakeAt: row.wake }),
  };
}

export interface WaitRow {
  readonly run_id: RunId;
  readonly id: number;
  readonly request_id: RequestId;
  readonly opened: number;
}

export function toWait({
  run_id: runId,
  id: waitId,
  request_id: requestId,
  opened: openedAt,
}: WaitRow): WaitEntry {
  return { runId, waitId, requestId, openedAt };
}

export interface OutboxRow {
  readonly run_id: RunId;
  readonly event: number;
  readonly request_id: RequestId;
  readonly kind: number;
}

export function toOutbox({ run_id: runId, event, request_id: requestId, kind }: OutboxRow): OutboxEntry {
  return { runId, requestId, kind: OUTBOX_KINDS[kind] ?? "reply", event };
}
