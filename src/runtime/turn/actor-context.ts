import type { ArtifactId } from "../../protocol/ids.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import type { Agent } from "../agent/agent.ts";
import type { RemoteActor } from "../agent/remote-port.ts";
import type { Artifact, Memory } from "../agent/turn-api.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { Transcript } from "../replay/transcript.ts";
import type { ReplayScope } from "../replay/scope.ts";
import type { ActiveTurn } from "./active-turn.ts";

/** An actor's turn, call, scope and transcript. */
export interface ActorContext {
  readonly turn: ActiveTurn;
  readonly agent: Agent;
  readonly depth: number;
  /** The call that the actor works for; the turn's root for the requested agent. Once it has ended, output is ignored. */
  readonly call: OpenCall;
  readonly speaker: Speaker;
  readonly scope: ReplayScope;
  readonly memory: Memory;
  /** The actor's transcript, including earlier activations. */
  readonly transcript: Transcript;
  readonly files: Artifact[];
  /** The actor on another server that the agent is asked or told as. */
  readonly remoteActor?: RemoteActor | undefined;
  /** Aborts when the actor is stopped. */
  readonly signal: AbortSignal;
}

/** The files of the request; only the requested agent gets them. */
export function attachedTo({ depth, turn }: ActorContext): readonly ArtifactId[] {
  return depth === 0 ? (turn.accepted.request.attachments ?? []) : [];
}
