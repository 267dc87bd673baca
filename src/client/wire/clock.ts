import type { Environment } from "../../ports/environment.ts";

/** The time and randomness that a client needs. */
export type Clock = Pick<Environment, "monotonic" | "random" | "timer">;

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  random: () => Math.random(),
  timer(ms, fire) {
    const timeout = setTimeout(fire, ms);
    return () => clearTimeout(timeout);
  },
};

/** Waits; ends early when the signal aborts. */
export function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      stop();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const stop = clock.timer(ms, end);
    signal?.addEventListener("abort", end);
  });
}
