import type { Environment } from "../../ports/environment.ts";

/** Measures how long a turn has run, without the time it rests, and calls out once when that is too long. */
export class TurnTimeout {
  readonly #environment: Environment;
  readonly #expired: () => void;
  /** What is left, as of the last time that it began to run. */
  #leftMs: number;
  #runningSinceMs = 0;
  #stopTimer: (() => void) | undefined;

  constructor(environment: Environment, limitMs: number, expired: () => void) {
    this.#environment = environment;
    this.#leftMs = limitMs;
    this.#expired = expired;
    this.#run();
  }

  /** Says whether the turn rests from now on. */
  rest(resting: boolean): void {
    if (resting === (this.#stopTimer === undefined)) return;
    if (resting) this.stop();
    else this.#run();
  }

  stop(): void {
    if (this.#stopTimer === undefined) return;
    this.#stopTimer();
    this.#stopTimer = undefined;
    this.#leftMs -= this.#environment.monotonic() - this.#runningSinceMs;
  }

  #run(): void {
    this.#runningSinceMs = this.#environment.monotonic();
    this.#stopTimer = this.#environment.timer(this.#leftMs, this.#expired);
  }
}
