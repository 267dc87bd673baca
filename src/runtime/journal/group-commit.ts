import type { Environment } from "../../ports/environment.ts";

/** Has what several runs gather committed at the same time: there is one timer for all of them. */
export class GroupCommitTimer {
  readonly #environment: Environment;
  readonly #ms: number;
  #waiting: (() => void)[] = [];
  #stopTimer: (() => void) | undefined;

  /** `ms` is how long the first one waits for others, in milliseconds. */
  constructor(environment: Environment, ms: number) {
    this.#environment = environment;
    this.#ms = ms;
  }

  /** Calls `commit` once, when the time is over that began with the first call after the last time. */
  wait(commit: () => void): void {
    this.#waiting.push(commit);
    this.#stopTimer ??= this.#environment.timer(this.#ms, () => this.#end());
  }

  /** Calls nobody any more. */
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
