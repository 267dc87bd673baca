import type { Speaker } from "../../protocol/encode.ts";
import type { CallId } from "../../protocol/ids.ts";
import { pathTo } from "../journal/call-id.ts";

/** Which calls of a turn are followed by its code, and who is heard there. */
export class Subscriptions {
  readonly #followed = new Set<CallId>();
  /** By who speaks, the followed calls that it speaks under. */
  readonly #heard = new Map<Speaker, readonly CallId[]>();

  /** Has the events followed that arise under a call; whoever speaks there is introduced afterwards. */
  follow(callId: CallId): void {
    this.#followed.add(callId);
  }

  /** Notes who speaks under which call. */
  introduce(speaker: Speaker, callId: CallId): void {
    if (this.#followed.size === 0) return;
    const heard = (pathTo(callId) as readonly CallId[]).filter((above) => this.#followed.has(above));
    if (heard.length > 0) this.#heard.set(speaker, heard);
  }

  /** The followed calls under which somebody speaks. */
  of(speaker: Speaker): readonly CallId[] {
    return this.#heard.get(speaker) ?? NOBODY;
  }
}

const NOBODY: readonly CallId[] = [];
