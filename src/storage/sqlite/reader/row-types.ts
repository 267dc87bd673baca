import type { OutboxEntry, RequestEntry, RunEntry, WaitEntry } from "../../../ports/log-entries.ts";
import type { LastTurn, WaitingFor } from "../../../protocol/answers/status.ts";
import type { Usage } from "../../../protocol/events/events.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import type { Json, JsonObject } from "../../../protocol/json.ts";
import { toRemovedRequest } from "../../shared/request-entry.ts";
import { toRemovedEntry } from "../../shared/run-list.ts";
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

export interface RunRow {
  readonly run_id: RunId;
  readonly removed: number;
  readonly agent: string;
  readonly status: number;
  readonly created: number;
  readonly updated: number;
  readonly turns: number;
  readonly metadata: string;
  readonly initial_input: string;
  readonly started: RequestId | null;
  readonly last_turn: string | null;
  readonly usage: string | null;
  readonly alias: string | null;
  readonly head: number | null;
  readonly open_waits: number | null;
  readonly queued: number | null;
  readonly wake: number | null;
}

export function toRun(row: RunRow): RunEntry {
  if (row.removed > 0) return toRemovedEntry(row.run_id);
  return {
    runId: row.run_id,
    head: row.head ?? 0,
    agent: row.agent,
    status: RUN_PHASES[row.status] ?? "idle",
    createdAt: row.created,
    updatedAt: row.updated,
    turns: row.turns,
    initialInput: JSON.parse(row.initial_input) as Json,
    metadata: JSON.parse(row.metadata) as JsonObject,
    ...(row.started !== null && { started: row.started }),
    ...(row.last_turn !== null && { lastTurn: JSON.parse(row.last_turn) as LastTurn }),
    ...(row.usage !== null && { usage: JSON.parse(row.usage) as Usage }),
    ...(row.alias !== null && { alias: row.alias }),
    ...(row.open_waits !== null && row.open_waits > 0 && { openWaits: row.open_waits }),
    ...(row.queued !== null && row.queued > 0 && { queued: row.queued }),
    ...(row.wake !== null && { wakeAt: row.wake }),
  };
}

export interface RequestRow {
  readonly request_id: RequestId;
  readonly run_id: RunId;
  readonly removed: number;
  readonly phase: number;
  readonly created: number;
  readonly accepted_n: number;
  readonly accepted_after: number;
  readonly started: number | null;
  readonly segment: number | null;
  readonly completed: number | null;
  readonly wake: number | null;
  readonly rests: string | null;
  readonly waiting_for: string | null;
}

export function toRequest(row: RequestRow): RequestEntry {
  if (row.removed > 0) return toRemovedRequest(row.request_id, row.run_id);
  return {
    requestId: row.request_id,
    runId: row.run_id,
    phase: REQUEST_PHASES[row.phase] ?? "queued",
    createdAt: row.created,
    accepted: { n: row.accepted_n, after: row.accepted_after },
    ...(row.started !== null && { started: row.started }),
    ...(row.segment !== null && { segment: row.segment }),
    ...(row.completed !== null && { completed: row.completed }),
    ...(row.wake !== null && { wakeAt: row.wake }),
    ...(row.rests !== null && { rests: JSON.parse(row.rests) as RequestId[] }),
    ...(row.waiting_for !== null && { waitingFor: JSON.parse(row.waiting_for) as WaitingFor }),
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
