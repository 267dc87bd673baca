import { EventEmitter } from "eventemitter3";
import type { RunId } from "../../protocol/ids.ts";

/** The wake listeners of each run, and those of all runs. */
export class Tails {
  // One emitter per run with listeners: a single emitter would have one event name per run, and is five times
  // slower.
  readonly #emitters = new Map<RunId, EventEmitter<"appended">>();
  readonly #ofAll = new EventEmitter<{ appended: [RunId] }>();

  /** The runs with listeners of their own. */
  get runIds(): Iterable<RunId> {
    return this.#emitters.keys();
  }

  /** Whether anything listens to all runs. */
  get isWatched(): boolean {
    return this.#ofAll.listenerCount("appended") > 0;
  }

  /** Calls `wake` after each `wake(runId)` of this object, until the returned function is called. */
  add(runId: RunId, wake: () => void): () => void {
    const emitter = this.#emitters.get(runId) ?? new EventEmitter<"appended">();
    this.#emitters.set(runId, emitter);
    // A new function per call, so that the same `wake` can be added twice.
    const listener = (): void => wake();
    emitter.on("appended", listener);
    return () => {
      emitter.off("appended", listener);
      const isUnused = emitter.listenerCount("appended") === 0;
      if (isUnused && this.#emitters.get(runId) === emitter) this.#emitters.delete(runId);
    };
  }

  /** Calls `wake` with the id after each `wake` of any run, until the returned function is called. */
  addToAll(wake: (runId: RunId) => void): () => void {
    const listener = (runId: RunId): void => wake(runId);
    this.#ofAll.on("appended", listener);
    return () => {
      this.#ofAll.off("appended", listener);
    };
  }

  wake(runId: RunId): void {
    this.#emitters.get(runId)?.emit("appended");
    this.#ofAll.emit("appended", runId);
  }
}
