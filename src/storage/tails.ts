import type { RunId } from "../protocol/ids.ts";

/** Who wants to hear of new entries, run by run. */
export class Tails {
  readonly #wakes = new Map<RunId, Set<() => void>>();

  /** Calls `wake` whenever `wake(runId)` is called here, until the answer is called. */
  add(runId: RunId, wake: () => void): () => void {
    // A listener of its own per call, so that the same function can listen twice.
    const listener = (): void => wake();
    const listeners = this.#wakes.get(runId) ?? new Set();
    listeners.add(listener);
    this.#wakes.set(runId, listeners);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#wakes.get(runId) === listeners) this.#wakes.delete(runId);
    };
  }

  wake(runId: RunId): void {
    const listeners = this.#wakes.get(runId);
    if (listeners === undefined) return;
    for (const listener of listeners) listener();
  }
}
