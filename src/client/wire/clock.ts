import type { Clock } from "../../shared/clock.ts";

/** The clock of a program or a page. */
export const systemClock: Clock = {
  monotonic: () => performance.now(),
  random: Math.random,
  timer(ms, fire) {
    const timeout = setTimeout(fire, ms);
    return () => clearTimeout(timeout);
  },
};
