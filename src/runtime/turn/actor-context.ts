import type { ArtifactId } from "../../protocol/ids.ts";
import type { Speaker } from "../../protocol/encode.ts";
import type { Agent } from "../agent/agent.ts";
import type { PublishedFile } from "../agent/remote-port.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { Transcript } from "../replay/transcript.ts";
import type { ReplayScope } from "../replay/scope.ts";
import type { Memory } from "../agent/turn-api.ts";
import type { ActiveTurn } from "./active-turn.ts";

/** Where an actor stands: in which turn, for which call, and what it has said and done there. */
export interface ActorContext {
  readonly turn: ActiveTurn;
  readonly agent: Agent;
  readonly depth: number;
  /** The call that the actor works for; the turn's root for the agent that was asked. */
  readonly call: OpenCall;
  readonly speaker: Speaker;
  readonly scope: ReplayScope;
  readonly memory: Memory;
  /** What the actor has said, in an earlier life of the process too. */
  readonly said: Transcript;
  readonly files: PublishedFile[];
  /** Fires when the actor is stopped. */
  readonly signal: AbortSignal;
}

/** The files that an actor was given: those of the request, for the agent that was asked and for no other. */
export function attachedTo({ depth, turn }: ActorContext): readonly ArtifactId[] {
  return depth === 0 ? (turn.accepted.request.attachments ?? []) : [];
}
