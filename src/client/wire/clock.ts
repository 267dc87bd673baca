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

/**
 * The delay before a retry in milliseconds: doubles each time, up to 5 s, with jitter so that clients of one
 * server do not retry together. A delay that the server asks for is used, up to 30 s.
 */
export function backoffMs(clock: Clock, failures: number, askedMs: number = 0): number {
  const step = Math.min(FIRST_MS * 2 ** Math.min(failures, DOUBLINGS), LONGEST_MS);
  return Math.max(step / 2 + (step / 2) * clock.random(), Math.min(askedMs, LONGEST_ASKED_MS));
}

const FIRST_MS = 200;
const LONGEST_MS = 5_000;
const LONGEST_ASKED_MS = 30_000;
const DOUBLINGS = 10;
