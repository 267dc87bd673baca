import type { Environment } from "../../ports/environment.ts";

/**
 * How long a name is unused at least before its value is removed, in milliseconds. A node may refer to a value until it
 * has heard of the change that replaced it, or of the answer of the append that refers to it: both take less.
 */
const DELAY_MS = 30_000;

/** The maximum number of names that wait; what is above it is left to the next sweep. */
const NAMES_LIMIT = 10_000;

/** Names of values that nothing refers to, which are checked again some time later and then removed. */
export class RemovalDelay {
  readonly #environment: Environment;
  readonly #remove: (names: readonly string[]) => Promise<void>;
  #new = new Set<string>();
  #old = new Set<string>();
  #stopTimer: (() => void) | undefined;
  #isStopped = false;

  /** `remove` gets names after the delay. It never rejects. */
  constructor(environment: Environment, remove: (names: readonly string[]) => Promise<void>) {
    this.#environment = environment;
    this.#remove = remove;
  }

  add(names: readonly string[]): void {
    for (const name of names) if (!this.#old.has(name) && this.#new.size < NAMES_LIMIT) this.#new.add(name);
    this.#wait();
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopTimer?.();
  }

  #wait(): void {
    if (this.#isStopped || this.#new.size + this.#old.size === 0) return;
    this.#stopTimer ??= this.#environment.timer(DELAY_MS, () => {
      this.#stopTimer = undefined;
      const due = [...this.#old];
      this.#old = this.#new;
      this.#new = new Set();
      this.#wait();
      if (due.length > 0) void this.#remove(due);
    });
  }
}
