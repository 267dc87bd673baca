import type { OpenCall } from "./call-tree.ts";
import type { CallId } from "../../protocol/ids.ts";
import { LazyMap } from "../lazy.ts";

/** The calls of a turn that wait for a message, oldest first. */
export class OpenReceives {
  readonly #calls = new LazyMap<CallId, { readonly call: OpenCall; readonly name: string }>();

  get size(): number {
    return this.#calls.size;
  }

  add(call: OpenCall, name: string): void {
    this.#calls.set(call.callId, { call, name });
  }

  /** A call is closed. */
  remove(callId: CallId): void {
    this.#calls.delete(callId);
  }

  /** The oldest call that waits for a message with a name. */
  first(name: string): OpenCall | undefined {
    for (const waiting of this.#calls.values()) if (waiting.name === name) return waiting.call;
    return undefined;
  }
}
