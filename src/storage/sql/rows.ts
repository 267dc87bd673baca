import { AUDIT_ACTIONS } from "../../ports/audit.ts";
import type { Spent } from "../../ports/spending.ts";
import type {
  ListedRequestEntry,
  OutboxEntry,
  RequestEntry,
  RunEntry,
  ScheduleEntry,
  WaitEntry,
} from "../../ports/log-entries.ts";
import type { LastTurn, WaitingFor } from "../../protocol/answers/status.ts";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { PlacedEntry } from "../shared/audit.ts";
import { toRemovedEntry, toRemovedRequest } from "../shared/entries.ts";
import { DEFAULT_OWNER, toOwned } from "../../ports/principal.ts";
import { fromOwnedKey, fromRequestKey } from "../shared/owned-keys.ts";
import { OUTBOX_KINDS, REQUEST_PHASES, RUN_PHASES } from "./dialect.ts";

/**
 * A run as a statement returns it. Times are milliseconds since 1970; JSON is a text. An earlier version has stored fractions
 * of milliseconds as wake times.
 */
export interface RunColumns {
  readonly id: RunId;
  /** The node that owns it. */
  readonly node: string | null;
  readonly owner: string;
  readonly removed: boolean | number;
  readonly agent: string;
  readonly status: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly turns: number;
  readonly metadata: string;
  readonly initial_input: string;
  readonly started: string | null;
  readonly last_turn: string | null;
  readonly usage: string | null;
  readonly head: number | null;
  readonly open_waits: number | null;
  readonly queued: number | null;
  readonly wake_at: number | null;
  readonly alias: string | null;
}

export function toRun(row: RunColumns): RunEntry {
  if (row.removed) return toRemovedEntry(row.id, row.owner);
  return {
    runId: row.id,
    head: row.head ?? 0,
    agent: row.agent,
    ...toOwned(row.owner),
    turns: row.turns,
    initialInput: JSON.parse(row.initial_input) as Json,
    metadata: JSON.parse(row.metadata) as JsonObject,
    ...(row.started !== null && { started: fromRequestKey(row.started) }),
    ...(row.last_turn !== null && { lastTurn: JSON.parse(row.last_turn) as LastTurn }),
    ...(row.usage !== null && { usage: JSON.parse(row.usage) as Usage }),
    ...(row.alias !== null && { alias: row.alias }),
    ...(row.open_waits !== null && row.open_waits > 0 && { openWaits: row.open_waits }),
    ...(row.queued !== null && row.queued > 0 && { queued: row.queued }),
    status: RUN_PHASES[row.status] ?? "idle",
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...(row.wake_at !== null && { wakeAt: Math.ceil(row.wake_at) }),
    ...(row.node !== null && { node: row.node }),
  };
}

/** A request as a statement returns it. */
export interface RequestColumns {
  /** With its owner. */
  readonly id: string;
  readonly run: RunId;
  readonly removed: boolean | number;
  readonly phase: number;
  readonly created_at: number;
  readonly accepted_n: number;
  readonly accepted_after: number;
  readonly started: number | null;
  readonly segment: number | null;
  readonly completed: number | null;
  readonly wake_at: number | null;
  readonly rests: string | null;
  readonly waiting_for: string | null;
}

export function toRequest(row: RequestColumns): RequestEntry {
  const { name: requestId, owner } = fromOwnedKey(row.id);
  if (row.removed) return toRemovedRequest(requestId, row.run, owner ?? DEFAULT_OWNER);
  return {
    requestId,
    runId: row.run,
    ...(owner !== undefined && { owner }),
    phase: REQUEST_PHASES[row.phase] ?? "queued",
    createdAt: row.created_at,
    accepted: { n: row.accepted_n, after: row.accepted_after },
    ...(row.started !== null && { started: row.started }),
    ...(row.segment !== null && { segment: row.segment }),
    ...(row.completed !== null && { completed: row.completed }),
    ...(row.rests !== null && { parkedOn: JSON.parse(row.rests) as RequestId[] }),
    ...(row.waiting_for !== null && { waitingFor: JSON.parse(row.waiting_for) as WaitingFor }),
    ...(row.wake_at !== null && { wakeAt: Math.ceil(row.wake_at) }),
  };
}

/** A request in the list of the requests of all runs, as a statement returns it. */
export interface ListedRequestColumns extends RequestColumns {
  readonly agent: string;
  readonly updated_at: number;
}

export function toListedRequest(row: ListedRequestColumns): ListedRequestEntry {
  return { ...toRequest(row), agent: row.agent, updatedAt: row.updated_at };
}

/** An open wait as a statement returns it. */
export interface WaitColumns {
  readonly run: RunId;
  readonly id: number;
  /** With its owner. */
  readonly request: string;
  readonly opened_at: number;
}

export function toWait({ run, id, request, opened_at: openedAt }: WaitColumns): WaitEntry {
  return { runId: run, waitId: id, requestId: fromRequestKey(request), openedAt };
}

/** An entry of an outbox as a statement returns it. */
export interface OutboxColumns {
  readonly run: RunId;
  readonly event: number;
  readonly request: RequestId;
  readonly kind: number;
}

export function toOutbox({ run, event, request, kind }: OutboxColumns): OutboxEntry {
  return { runId: run, requestId: request, kind: OUTBOX_KINDS[kind] ?? "reply", event };
}

/** A schedule as a statement returns it. */
export interface ScheduleColumns {
  readonly run: RunId;
  readonly owner: string;
  readonly id: string;
  readonly due: number | null;
  readonly data: string;
}

export function toSchedule({ run, owner, id, due, data }: ScheduleColumns): ScheduleEntry {
  return {
    runId: run,
    ...toOwned(owner),
    id,
    ...(due !== null && { due }),
    data: JSON.parse(data) as JsonObject,
  };
}

/** What was spent on a day, as a statement returns it. */
export interface SpentColumns extends Spent {
  /** The owner, or one of its agents. */
  readonly owner: string;
  readonly day: number;
}

/** An entry of the audit trail as a statement returns it. */
export interface AuditColumns {
  readonly n: number;
  readonly at: number;
  readonly owner: string;
  readonly by_id: string;
  readonly by_name: string | null;
  readonly action: number;
  readonly run: RunId | null;
  readonly agent: string | null;
  readonly request: RequestId | null;
  readonly event: number | null;
  readonly detail: string | null;
  readonly times: number;
}

export function toAuditEntry(row: AuditColumns): PlacedEntry {
  const { n, at, owner, action, run, agent, request, event, detail, times } = row;
  return {
    n,
    at,
    entry: {
      at,
      owner,
      // A newer version may have written one that this one does not know.
      action: AUDIT_ACTIONS[action] ?? "process",
      by: { id: row.by_id, ...(row.by_name !== null && { name: row.by_name }) },
      ...(run !== null && { runId: run }),
      ...(agent !== null && { agent }),
      ...(request !== null && { requestId: request }),
      ...(event !== null && { event }),
      ...(detail !== null && { detail }),
      ...(times > 1 && { count: times }),
    },
  };
}
