import type { ForkedFrom, Questions, TurnError, Usage } from "../events/events.ts";
import type { FinishReason, TurnErrorCode } from "../events/outcome-codes.ts";
import type { RequestId, RunId } from "../ids.ts";
import type { Json } from "../json.ts";

/** The state of a request. */
export type RequestPhase = "queued" | "running" | "waiting" | "completed";

/** The state of a run. */
export type RunPhase = "idle" | "running" | "waiting";

/** What a request waits for from outside: the oldest open question, otherwise what its turn at rest waits for. */
export type WaitingFor =
  | { readonly kind: "input"; readonly wait_id: number; readonly expires_at?: string }
  | { readonly kind: "sleep"; readonly expires_at: string }
  | { readonly kind: "message"; readonly name: string; readonly expires_at?: string }
  | ActorAwaited;

/** The actor whose answer a request waits for. */
export interface ActorAwaited {
  readonly kind: "actor";
  readonly agent: string;
  readonly key?: string;
  readonly run_id?: RunId;
  /** The request there. */
  readonly request_id: RequestId;
  readonly expires_at?: string;
}

/** The answer of `GET /request/{request_id}`. */
export interface RequestStatus {
  readonly request_id: RequestId;
  readonly run_id: RunId;
  readonly agent: string;
  readonly operation: string;
  readonly status: RequestPhase;
  readonly finish_reason?: FinishReason;
  readonly result?: string | null;
  readonly output?: Json;
  readonly error?: TurnError;
  /** The questions of the oldest open wait, while the request waits. */
  readonly request_keys?: Questions;
  readonly wait_id?: number;
  /** The state value of the agent's machine, if it is one and has changed its state in the turn. */
  readonly state?: Json;
  /** The operations that the machine takes now, guards not considered; absent when the request has ended. */
  readonly accepts?: readonly string[];
  readonly waiting_for?: WaitingFor;
  /** When the request at rest continues by itself, if it does. */
  readonly wake_at?: string;
  readonly created_at: string;
  readonly completed_at?: string;
  /** The id of the request's newest event, 0 when it has none. */
  readonly last_event_id: number;
}

/** The newest turn of a run. */
export interface LastTurn {
  readonly request_id: RequestId;
  readonly operation: string;
  readonly started_at: string;
  /** Absent while the turn is not at its end. */
  readonly ended_at?: string;
  readonly finish_reason?: FinishReason;
  readonly error_code?: TurnErrorCode;
}

/** One row of `GET /runs`. */
export interface RunSummary {
  readonly run_id: RunId;
  readonly agent: string;
  readonly status: RunPhase;
  readonly created_at: string;
  readonly updated_at: string;
  readonly initial_input: Json;
  readonly turns: number;
  /** The name that the run was created with. */
  readonly key?: string;
  /** The event in another run that this run was forked from. */
  readonly forked_from?: ForkedFrom;
  /** Absent before the first turn, for a fork before its first own turn, and for older logs. */
  readonly last_turn?: LastTurn;
  /** The number of open waits. */
  readonly open_waits: number;
  /** The number of queued requests. */
  readonly queued: number;
  /** When the request at rest continues by itself, if it does. */
  readonly wake_at?: string;
  /** The usage of all turns that have ended. */
  readonly usage?: Usage;
  readonly last_event_id: number;
}

/** A request of a run. */
export interface RunRequest {
  readonly request_id: RequestId;
  readonly status: RequestPhase;
  readonly created_at: string;
  /** The id of its first event; absent while it is queued. */
  readonly started?: number;
  /** The id of its last event, once it has ended. */
  readonly completed?: number;
}

/** The answer of `GET /runs/{run_id}`. */
export interface RunStatus extends RunSummary {
  /** Its newest requests, the newest first. */
  readonly requests: readonly RunRequest[];
}
