import type { Environment } from "../../ports/environment.ts";

/**
 * Commits the texts of all runs together: at the end of a turn of the event loop, or of an interval. All handlers of
 * that time run first, and no run needs a timer, a promise or a microtask of its own for its commit.
 */
export class GroupCommit {
  readonly #environment: Environment;
  readonly #ms: number;
  #waiting: (() => void)[] = [];
  #stopTimer: (() => void) | undefined;

  /** `ms` is how long the first run waits for others, in milliseconds; 0 for the turn of the event loop. */
  constructor(environment: Environment, ms: number) {
    this.#environment = environment;
    this.#ms = ms;
  }

  /** Calls `commit`, which must not throw, once at the end of the current interval; the first call starts an interval. */
  wait(commit: () => void): void {
    this.#waiting.push(commit);
    if (this.#waiting.length > 1) return;
    if (this.#ms === 0) this.#environment.macrotask(this.#end);
    else this.#stopTimer = this.#environment.timer(this.#ms, this.#end);
  }

  /** Stops the timer; no more calls are made. */
  stop(): void {
    this.#stopTimer?.();
    this.#waiting = [];
  }

  readonly #end = (): void => {
    const commits = this.#waiting;
    this.#waiting = [];
    this.#stopTimer = undefined;
    for (const commit of commits) commit();
  };
}
