import { EventEmitter } from "eventemitter3";
import type { RunId } from "../../protocol/ids.ts";

/** Who wants to hear of new entries, run by run. */
export class Tails {
  // An emitter for each run that is listened to: one for all of them would have an event for each run that
  // comes and goes, and is five times slower.
  readonly #emitters = new Map<RunId, EventEmitter<"appended">>();

  /** Calls `wake` whenever `wake(runId)` is called here, until the answer is called. */
  add(runId: RunId, wake: () => void): () => void {
    const emitter = this.#emitters.get(runId) ?? new EventEmitter<"appended">();
    this.#emitters.set(runId, emitter);
    // A listener of its own per call, so that the same function can listen twice.
    const listener = (): void => wake();
    emitter.on("appended", listener);
    return () => {
      emitter.off("appended", listener);
      const isUnused = emitter.listenerCount("appended") === 0;
      if (isUnused && this.#emitters.get(runId) === emitter) this.#emitters.delete(runId);
    };
  }

  wake(runId: RunId): void {
    this.#emitters.get(runId)?.emit("appended");
  }
}
