import type { TurnWatch } from "../../../faults/client.ts";

/** Measures the longest pause that a client saw in an open turn: from its request or an event to the next event. */
export class PauseWatch implements TurnWatch {
  readonly #since = new Map<string, number>();
  #longest = { ms: 0, requestId: "" };

  /** The longest pause since the last call. */
  take(): { readonly ms: number; readonly requestId: string } {
    const longest = this.#longest;
    this.#longest = { ms: 0, requestId: "" };
    return longest;
  }

  /** The open turns, and for how long their clients have seen nothing of them. */
  get open(): readonly string[] {
    const now = performance.now();
    return [...this.#since].map(([requestId, since]) => `${requestId} for ${Math.round(now - since)} ms`);
  }

  began(requestId: string): void {
    this.#since.set(requestId, performance.now());
  }

  heard(requestId: string): void {
    const now = performance.now();
    const ms = now - (this.#since.get(requestId) ?? now);
    if (ms > this.#longest.ms) this.#longest = { ms, requestId };
    this.#since.set(requestId, now);
  }

  ended(requestId: string): void {
    this.#since.delete(requestId);
  }
}
