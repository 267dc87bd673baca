import type { RequestId, RunId } from "./ids.ts";

/** The address of an actor as plain data: an agent, and one of its runs by key or by id. */
export interface ActorRef {
  readonly agent: string;
  /** The key of the run, if it has one. */
  readonly key?: string;
  readonly run_id: RunId;
  /** The server of the run, where it is another one. */
  readonly server?: string;
}

/**
 * The actor that sent a request. It is certain for an actor of this server. From the wire it is a claim, which always
 * has `server` and grants no rights.
 */
export interface SenderRef extends Omit<ActorRef, "agent"> {
  /** Absent if the other server did not say it. */
  readonly agent?: string;
}

/** Who caused something: a person or a program that the server knows. */
export interface By {
  readonly id: string;
  /** A name for people. */
  readonly name?: string;
}

export const CALL_MODES = ["ask", "tell"] as const;

/** How an actor is called: an `ask` ends with the answer, a `tell` when the request is in the other's log. */
export type CallMode = (typeof CALL_MODES)[number];

/** How many requests led to this one without a caller that waits, and since when. */
export interface Hops {
  readonly n: number;
  /** ISO 8601, UTC. */
  readonly since: string;
}

/** The trace that a request belongs to, as W3C Trace Context writes it. */
export interface RequestTrace {
  /** The span that led to the request. */
  readonly traceparent: string;
  /** Set if its caller does not wait for the request: it has a trace of its own, with a link to that span. */
  readonly linked?: true;
}

/** The kinds of what a ToolCall calls. `remote` is an agent on another server, `actor` another run. */
export const CALLEE_KINDS = ["agent", "tool", "effect", "remote", "actor"] as const;

export type CalleeKind = (typeof CALLEE_KINDS)[number];

/** What a ToolCall calls. */
export interface Callee {
  readonly kind: CalleeKind;
  /** Its own name; `function_name` is the name that the caller uses. */
  readonly name: string;
  /** The key of an actor. */
  readonly key?: string;
  /** The run of an actor that is not addressed by key. */
  readonly run_id?: RunId;
  /** The request that an actor gets. */
  readonly request_id?: RequestId;
  /** The server that has a tool, by its name, where it is another one. */
  readonly server?: string;
}

export const STRATEGY_ENDS = ["escalate", "stop"] as const;

/** What becomes of a request whose turn fails, as the actor says that supervises it. */
export interface SupervisorStrategy {
  /** How often the request is tried, with the first time; 1 for no restart. */
  readonly attempts: number;
  /** Only the restarts of the actor within this time count, those of all its requests; absent: those of the request. */
  readonly within_ms?: number;
  /** The pause before the first restart, in milliseconds; doubled for each further one. */
  readonly backoff_ms: number;
  /** What follows the last failure: the supervisor fails with it, or the actor is stopped. */
  readonly then: (typeof STRATEGY_ENDS)[number];
}

/** A turn, here or on another server, in which an agent made a request. */
export interface Caller {
  /** The server of the run, where it is known. */
  readonly server?: string;
  readonly run_id: string;
  readonly request_id: string;
  /** False if the turn does not wait for the end of the request. Default true. */
  readonly waits?: boolean;
}

/** Limit of the callers in one request. */
export const CALLERS_LIMIT = 32;

/** The status of a machine; after `done` and `error` it takes no more events. */
export const MACHINE_STATUSES = ["active", "done", "error"] as const;

export type MachineStatus = (typeof MACHINE_STATUSES)[number];
