import type { Speaker } from "../protocol/encode.ts";
import type { Agent } from "./agent.ts";
import type { PublishedFile } from "./foreign.ts";
import type { OpenCall } from "./open-call.ts";
import type { Said } from "./said.ts";
import type { Scope } from "./scope.ts";
import type { Memory } from "./turn-api.ts";
import type { ActiveTurn } from "./turn.ts";

/** Where an actor stands: in which turn, for which call, and what it has said and done there. */
export interface ActorPlace {
  readonly turn: ActiveTurn;
  readonly agent: Agent;
  readonly depth: number;
  /** The call that the actor works for; the turn's root for the agent that was asked. */
  readonly call: OpenCall;
  readonly speaker: Speaker;
  readonly scope: Scope;
  readonly memory: Memory;
  /** What the actor has said, in an earlier life of the process too. */
  readonly said: Said;
  readonly files: PublishedFile[];
  /** Fires when the actor is stopped. */
  readonly signal: AbortSignal;
}
