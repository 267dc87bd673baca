import type { Environment } from "../../ports/environment.ts";

/**
 * Commits the texts of all runs together: at the end of a turn of the event loop. All handlers of that turn run first, and
 * no run needs a promise or a microtask of its own for its commit.
 */
export class GroupCommit {
  readonly #environment: Environment;
  #waiting: (() => void)[] = [];

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Calls `commit`, which must not throw, once at the end of the current turn of the event loop. */
  wait(commit: () => void): void {
    this.#waiting.push(commit);
    if (this.#waiting.length === 1) this.#environment.macrotask(this.#end);
  }

  readonly #end = (): void => {
    const commits = this.#waiting;
    this.#waiting = [];
    for (const commit of commits) commit();
  };
}
