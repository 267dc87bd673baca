import { createSpeaker } from "../../protocol/events/encode.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import type { ActorContext } from "../turn/actor-context.ts";
import type { RemoteSpeaker } from "../agent/remote-port.ts";

/** Maximum number of speakers with prepared constant text. */
const SPEAKERS_LIMIT = 256;

/** The speakers of a remote agent, placed below the local actor. */
export class RemoteSpeakers {
  readonly #actor: ActorContext;
  readonly #speakers = new Map<string, Speaker>();

  constructor(actor: ActorContext) {
    this.#actor = actor;
  }

  speakerOf({ agent, depth, parent }: RemoteSpeaker): Speaker {
    const { call, depth: base, speaker, turn } = this.#actor;
    // The remote agent itself speaks under its local name.
    if (base === 0 && depth === 0) return speaker;
    const key = `${depth} ${parent ?? ""} ${agent}`;
    const known = this.#speakers.get(key);
    if (known) return known;
    if (this.#speakers.size >= SPEAKERS_LIMIT) this.#speakers.clear();
    const { runId, accepted } = turn;
    const made = createSpeaker({
      run_id: runId,
      request_id: accepted.requestId,
      agent,
      depth: base + depth,
      parent_call_id: parent ?? call.callId,
    });
    this.#speakers.set(key, made);
    turn.subscriptions.introduce(made, parent ?? call.callId);
    return made;
  }
}
