import type { RunId } from "./ids.ts";

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

/** How an actor is called: an `ask` ends with the answer, a `tell` when the request is in the other's log. */
export type CallMode = "ask" | "tell";

/** How many requests led to this one without a caller that waits, and since when. */
export interface Hops {
  readonly n: number;
  /** ISO 8601, UTC. */
  readonly since: string;
}
