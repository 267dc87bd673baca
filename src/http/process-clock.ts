import type { MonotonicClock } from "../shared/clock.ts";

/** The clock of this process, for adapters. */
export const processClock: MonotonicClock = {
  monotonic: () => performance.now(),
  timer(ms, fire) {
    const timeout = setTimeout(fire, ms);
    return () => clearTimeout(timeout);
  },
};
