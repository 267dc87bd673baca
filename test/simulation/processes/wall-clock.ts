import type { Scheduler } from "../scheduler.ts";

/** The wall clock of all processes, which can jump; their timers do not depend on it. */
export class WallClock {
  readonly #scheduler: Scheduler;
  #offsetMs = 0;
  /** How far it has jumped back, in milliseconds: a sleep may end that much too early on this clock. */
  backMs = 0;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** Milliseconds since 1970. */
  get nowMs(): number {
    return this.#scheduler.nowMs + this.#offsetMs;
  }

  /** Sets it forwards, or backwards if the step is negative. */
  step(ms: number): void {
    this.#offsetMs += ms;
    if (ms < 0) this.backMs -= ms;
  }
}
