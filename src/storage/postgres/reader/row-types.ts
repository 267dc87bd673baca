import type { OutboxEntry, RequestEntry, RunEntry, Snapshot, WaitEntry } from "../../../ports/log-entries.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import { toRemovedRequest, toRemovedEntry } from "../../shared/entries.ts";
import { toRequestFields, toRunFields } from "../../sql/rows.ts";
import type { CommonRequestColumns, CommonRunColumns } from "../../sql/rows.ts";
import { OUTBOX_KINDS, REQUEST_PHASES, RUN_PHASES } from "../format.ts";

/** The columns of a run's row, for `FROM troupe.run`. */
export const RUN = `run.id, owner, stored, removed, agent, status, created_at, updated_at, turns, metadata,
  initial_input, started, last_turn, usage, head,
  CASE WHEN status > 0 THEN (SELECT count(*) FROM troupe.wait WHERE wait.run = run.id) END AS open_waits,
  CASE WHEN status > 0 THEN
    (SELECT count(*) FROM troupe.request WHERE request.run = run.id AND phase = 0) END AS queued,
  CASE WHEN status > 0 THEN (SELECT wake_at FROM troupe.request WHERE request.id = run.started) END AS wake_at,
  (SELECT min(name) FROM troupe.alias WHERE alias.run = run.id) AS alias`;

export interface RunColumns extends CommonRunColumns {
  readonly id: RunId;
  readonly owner: string | null;
  readonly stored: boolean;
  readonly removed: boolean;
  readonly status: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly head: number;
  readonly wake_at: number | null;
}

export function toRun(row: RunColumns): RunEntry {
  if (row.removed) return toRemovedEntry(row.id);
  return {
    runId: row.id,
    head: row.head,
    ...toRunFields(row),
    status: RUN_PHASES[row.status] ?? "idle",
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...(row.wake_at !== null && { wakeAt: row.wake_at }),
    ...(row.owner !== null && { owner: row.owner }),
  };
}

/** The columns of a request. */
export const REQUEST = `id, run, removed, phase, created_at, accepted_n, accepted_after, started, segment, completed,
  wake_at, rests, waiting_for FROM troupe.request`;

export interface RequestColumns extends CommonRequestColumns {
  readonly id: RequestId;
  readonly run: RunId;
  readonly removed: boolean;
  readonly phase: number;
  readonly created_at: number;
  readonly wake_at: number | null;
}

export function toRequest(row: RequestColumns): RequestEntry {
  if (row.removed) return toRemovedRequest(row.id, row.run);
  return {
    requestId: row.id,
    runId: row.run,
    phase: REQUEST_PHASES[row.phase] ?? "queued",
    createdAt: row.created_at,
    ...toRequestFields(row),
    ...(row.wake_at !== null && { wakeAt: row.wake_at }),
  };
}

export interface WaitColumns {
  readonly run: RunId;
  readonly id: number;
  readonly request: RequestId;
  readonly opened_at: number;
}

export function toWait({ run, id, request, opened_at: openedAt }: WaitColumns): WaitEntry {
  return { runId: run, waitId: id, requestId: request, openedAt };
}

export interface OutboxColumns {
  readonly run: RunId;
  readonly event: number;
  readonly request: RequestId;
  readonly kind: number;
}

export function toOutbox({ run, event, request, kind }: OutboxColumns): OutboxEntry {
  return { runId: run, requestId: request, kind: OUTBOX_KINDS[kind] ?? "reply", event };
}

/** The columns of a run's snapshot. */
export const SNAPSHOT = "snapshot, snapshot_head, snapshot_records";

export interface SnapshotColumns {
  readonly snapshot: string | null;
  readonly snapshot_head: number | null;
  readonly snapshot_records: number | null;
}

export function toSnapshot(row: SnapshotColumns): Snapshot | undefined {
  const { snapshot, snapshot_head: head, snapshot_records: records } = row;
  if (snapshot === null || head === null || records === null) return undefined;
  return { head, records, data: JSON.parse(snapshot) as Json };
}
