import type { Scheduler } from "../scheduler.ts";

/** What a process reads as its wall clock. */
export interface Clock {
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** The wall clocks of all processes, as the checks see them. */
export interface WallClocks extends Clock {
  /** The time of the slowest clock. */
  readonly earliestMs: number;
  /** The time of the fastest clock. */
  readonly latestMs: number;
  /** How much too early a sleep may end on these clocks, in milliseconds. */
  readonly backMs: number;
  /** Sets them forwards, or backwards if the step is negative. */
  step(ms: number): void;
}

/** One wall clock for all processes, which can jump; their timers do not depend on it. */
export class WallClock implements WallClocks {
  readonly #scheduler: Scheduler;
  #offsetMs = 0;
  /** How far it has jumped back, in milliseconds. */
  backMs = 0;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  get nowMs(): number {
    return this.#scheduler.nowMs + this.#offsetMs;
  }

  get earliestMs(): number {
    return this.nowMs;
  }

  get latestMs(): number {
    return this.nowMs;
  }

  step(ms: number): void {
    this.#offsetMs += ms;
    if (ms < 0) this.backMs -= ms;
  }
}
