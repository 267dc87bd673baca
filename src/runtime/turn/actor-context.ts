import type { ArtifactId } from "../../protocol/ids.ts";
import type { Speaker } from "../../protocol/encode.ts";
import type { Agent } from "../agent/agent.ts";
import type { PublishedFile } from "../agent/remote-port.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { Said } from "../replay/transcript.ts";
import type { Scope } from "../replay/scope.ts";
import type { Memory } from "../agent/turn-api.ts";
import type { ActiveTurn } from "./active-turn.ts";

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

/** The files that an actor was given: those of the request, for the agent that was asked and for no other. */
export function attachedTo({ depth, turn }: ActorPlace): readonly ArtifactId[] {
  return depth === 0 ? (turn.options.accepted.request.attachments ?? []) : [];
}
