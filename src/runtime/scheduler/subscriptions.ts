import type { Speaker } from "../../protocol/events/encode.ts";
import type { CallId } from "../../protocol/ids.ts";
import { pathTo } from "../journal/call-id.ts";

/** The calls of a turn whose events its code iterates, and the speakers under them. */
export class Subscriptions {
  readonly #followed = new Set<CallId>();
  /** The iterated calls above each speaker. */
  readonly #heard = new Map<Speaker, readonly CallId[]>();

  /** Subscribes to the events under a call; its speakers are registered afterwards. */
  follow(callId: CallId): void {
    this.#followed.add(callId);
  }

  /** Registers a speaker under a call. */
  introduce(speaker: Speaker, callId: CallId): void {
    if (this.#followed.size === 0) return;
    const heard = (pathTo(callId) as readonly CallId[]).filter((above) => this.#followed.has(above));
    if (heard.length > 0) this.#heard.set(speaker, heard);
  }

  /** The iterated calls above a speaker. */
  of(speaker: Speaker): readonly CallId[] {
    return this.#heard.get(speaker) ?? NONE;
  }
}

const NONE: readonly CallId[] = [];
