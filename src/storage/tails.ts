import { EventEmitter } from "eventemitter3";
import type { RunId } from "../protocol/ids.ts";

/** Who wants to hear of new entries, run by run. */
export class Tails {
  readonly #emitter = new EventEmitter<{ [runId: string]: [] }>();

  /** Calls `wake` whenever `wake(runId)` is called here, until the answer is called. */
  add(runId: RunId, wake: () => void): () => void {
    // A listener of its own per call, so that the same function can listen twice.
    const listener = (): void => wake();
    this.#emitter.on(runId, listener);
    return () => void this.#emitter.off(runId, listener);
  }

  wake(runId: RunId): void {
    this.#emitter.emit(runId);
  }
}
