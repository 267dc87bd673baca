import type { Environment } from "../../ports/environment.ts";

/** Commits the entries of several runs at the same time, with one timer for all. */
export class GroupCommitTimer {
  readonly #environment: Environment;
  readonly #ms: number;
  #waiting: (() => void)[] = [];
  #stopTimer: (() => void) | undefined;

  /** `ms` is how long the first run waits for others, in milliseconds. */
  constructor(environment: Environment, ms: number) {
    this.#environment = environment;
    this.#ms = ms;
  }

  /** Calls `commit` once when the current interval ends; the first call starts an interval. */
  wait(commit: () => void): void {
    this.#waiting.push(commit);
    this.#stopTimer ??= this.#environment.timer(this.#ms, () => this.#end());
  }

  /** Stops the timer; no more calls are made. */
  stop(): void {
    this.#stopTimer?.();
    this.#waiting = [];
  }

  #end(): void {
    const commits = this.#waiting;
    this.#waiting = [];
    this.#stopTimer = undefined;
    for (const commit of commits) commit();
  }
}
