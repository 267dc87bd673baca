import type { Environment } from "../../ports/environment.ts";

/** How often part of the waiting readers look into the log without a wake, in milliseconds. */
const SWEEP_MS = 1_000;

/** How many parts there are: each reader looks once in `SWEEP_MS * PARTS`, and thousands do not look all at once. */
const PARTS = 10;

/** A registered reader. Emptied when it is removed, because the set keeps old entries alive for some time. */
export interface WokenReader {
  wake: (() => void) | undefined;
}

/** Wakes the readers of a log that may miss wakes from time to time. One timer serves all, while there are any. */
export class MissedWakes {
  readonly #environment: Environment;
  readonly #readers = new Set<WokenReader>();
  /** The readers that have not been woken in the present round. */
  #round: WokenReader[] = [];
  #stopTimer: (() => void) | undefined;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  add(wake: () => void): WokenReader {
    const reader = { wake };
    this.#readers.add(reader);
    this.#stopTimer ??= this.#environment.timer(SWEEP_MS, this.#sweep);
    return reader;
  }

  remove(reader: WokenReader): void {
    reader.wake = undefined;
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#round = [];
  }

  readonly #sweep = (): void => {
    this.#stopTimer = this.#environment.timer(SWEEP_MS, this.#sweep);
    if (this.#round.length === 0) this.#round = [...this.#readers];
    for (const reader of this.#round.splice(-Math.ceil(this.#readers.size / PARTS))) reader.wake?.();
  };
}
