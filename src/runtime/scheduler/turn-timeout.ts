import type { Environment } from "../../ports/environment.ts";

/** Measures the time of a turn, without the time it is suspended, and calls `expired` once when it is over the limit. */
export class TurnTimeout {
  readonly #environment: Environment;
  readonly #expired: () => void;
  /** The time left when the timer was last started. */
  #leftMs: number;
  #runningSinceMs = 0;
  #stopTimer: (() => void) | undefined;

  constructor(environment: Environment, limitMs: number, expired: () => void) {
    this.#environment = environment;
    this.#leftMs = limitMs;
    this.#expired = expired;
    this.#run();
  }

  /** Stops the time of a suspended turn, and starts it again. */
  suspend(isSuspended: boolean): void {
    if (isSuspended === (this.#stopTimer === undefined)) return;
    if (isSuspended) this.stop();
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
