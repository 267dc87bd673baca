import type { Json, JsonObject } from "../../protocol/json.ts";
import type { LastTurn, WaitingFor } from "../../protocol/answers/status.ts";
import type { RequestEntry, RunEntry } from "../../ports/log-entries.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { RequestMark } from "../../ports/log-batch.ts";
import type { Usage } from "../../protocol/events/events.ts";

/** The columns of a run that have the same names in all SQL engines. */
export interface CommonRunColumns {
  readonly agent: string;
  readonly turns: number;
  readonly metadata: string;
  readonly initial_input: string;
  readonly started: RequestId | null;
  readonly last_turn: string | null;
  readonly usage: string | null;
  readonly alias: string | null;
  readonly open_waits: number | null;
  readonly queued: number | null;
}

/** The fields of a run that are in those columns. */
export type CommonRunFields = Omit<
  RunEntry,
  "runId" | "head" | "status" | "createdAt" | "updatedAt" | "wakeAt" | "owner" | "removed"
>;

export function toRunFields(row: CommonRunColumns): CommonRunFields {
  return {
    agent: row.agent,
    turns: row.turns,
    initialInput: JSON.parse(row.initial_input) as Json,
    metadata: JSON.parse(row.metadata) as JsonObject,
    ...(row.started !== null && { started: row.started }),
    ...(row.last_turn !== null && { lastTurn: JSON.parse(row.last_turn) as LastTurn }),
    ...(row.usage !== null && { usage: JSON.parse(row.usage) as Usage }),
    ...(row.alias !== null && { alias: row.alias }),
    ...(row.open_waits !== null && row.open_waits > 0 && { openWaits: row.open_waits }),
    ...(row.queued !== null && row.queued > 0 && { queued: row.queued }),
  };
}

/** The columns of a request that have the same names in all SQL engines. */
export interface CommonRequestColumns {
  readonly accepted_n: number;
  readonly accepted_after: number;
  readonly started: number | null;
  readonly segment: number | null;
  readonly completed: number | null;
  readonly rests: string | null;
  readonly waiting_for: string | null;
}

/** The fields of a request that are in those columns. */
export type CommonRequestFields = Omit<
  RequestEntry,
  "requestId" | "runId" | "phase" | "createdAt" | "wakeAt" | "removed"
>;

export function toRequestFields(row: CommonRequestColumns): CommonRequestFields {
  return {
    accepted: { n: row.accepted_n, after: row.accepted_after },
    ...(row.started !== null && { started: row.started }),
    ...(row.segment !== null && { segment: row.segment }),
    ...(row.completed !== null && { completed: row.completed }),
    ...(row.rests !== null && { rests: JSON.parse(row.rests) as RequestId[] }),
    ...(row.waiting_for !== null && { waitingFor: JSON.parse(row.waiting_for) as WaitingFor }),
  };
}

/** The fields of a mark for SQL, without its ids and its phase. `null` leaves a column unchanged. */
export type EncodedMark = readonly [
  createdAt: number | null,
  acceptedN: number | null,
  acceptedAfter: number | null,
  started: number | null,
  segment: number | null,
  completed: number | null,
  /** 0 if the request has no wake time any more. */
  wakeAt: number | null,
  /** The asks that it rests on, as JSON. */
  rests: string | null,
  /** JSON; empty if the request works again. */
  waitingFor: string | null,
];

/** Encodes a mark. A completed request has no wake time, rests on nothing and waits for nothing. */
export function encodeMark(mark: RequestMark): EncodedMark {
  const isOver = mark.phase === "completed";
  const { wakeAt = null, rests, waitingFor } = mark;
  return [
    mark.createdAt ?? null,
    mark.accepted?.n ?? null,
    mark.accepted?.after ?? null,
    mark.started ?? null,
    mark.segment ?? null,
    mark.completed ?? null,
    isOver ? 0 : wakeAt,
    isOver ? "[]" : rests === undefined ? null : JSON.stringify(rests),
    isOver || waitingFor === null ? "" : waitingFor === undefined ? null : JSON.stringify(waitingFor),
  ];
}
