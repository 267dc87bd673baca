import type { MonotonicClock } from "../../../../src/shared/clock.ts";

/** A clock that stands still until it is advanced. */
export class ManualClock implements MonotonicClock {
  #now = 0;
  readonly #timers = new Set<{ readonly at: number; readonly fire: () => void }>();

  readonly #started: number[] = [];
  readonly #wakes: (() => void)[] = [];

  readonly monotonic = (): number => this.#now;

  readonly timer = (ms: number, fire: () => void): (() => void) => {
    const timer = { at: this.#now + ms, fire };
    this.#timers.add(timer);
    this.#started.push(ms);
    for (const wake of this.#wakes.splice(0)) wake();
    return () => this.#timers.delete(timer);
  };

  /** Resolves when a timer of this duration was started. */
  async started(ms: number, times = 1): Promise<void> {
    while (this.#started.filter((one) => one === ms).length < times)
      await new Promise<void>((resolve) => {
        this.#wakes.push(resolve);
      });
  }

  /** Fires all timers that are due within this time, in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = next.at;
      next.fire();
    }
    this.#now = end;
  }
}
