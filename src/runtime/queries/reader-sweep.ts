import type { Environment } from "../../ports/environment.ts";

/** Interval at which one part of the waiting readers checks the log without a wake, in milliseconds. */
const SWEEP_MS = 1_000;

/**
 * The number of parts. Each reader checks once in `SWEEP_MS * PARTS`, so that thousands do not check at once.
 */
const PARTS = 10;

/** A registered reader. It is emptied on removal, because the set keeps old entries alive for a while. */
export interface SweptReader {
  wake: (() => void) | undefined;
}

/** Periodically wakes the readers of a log whose wakes can be lost. One timer serves all readers. */
export class ReaderSweep {
  readonly #environment: Environment;
  readonly #readers = new Set<SweptReader>();
  /** The readers that were not woken in the current round. */
  #round: SweptReader[] = [];
  /** How many of them a sweep wakes. */
  #share = 0;
  #stopTimer: (() => void) | undefined;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  add(wake: () => void): SweptReader {
    const reader = { wake };
    this.#readers.add(reader);
    this.#stopTimer ??= this.#environment.timer(SWEEP_MS, this.#sweep);
    return reader;
  }

  remove(reader: SweptReader): void {
    reader.wake = undefined;
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#round = [];
  }

  readonly #sweep = (): void => {
    this.#stopTimer = this.#environment.timer(SWEEP_MS, this.#sweep);
    if (this.#round.length === 0) {
      this.#round = [...this.#readers];
      this.#share = Math.ceil(this.#round.length / PARTS);
    }
    for (const reader of this.#round.splice(-this.#share)) reader.wake?.();
  };
}
