import type { Environment } from "../../../ports/environment.ts";

/** The time that leases and retries need. */
export type MonotonicClock = Pick<Environment, "monotonic" | "timer">;

export const processClock: MonotonicClock = {
  monotonic: () => performance.now(),
  timer(ms, fire) {
    const timeout = setTimeout(fire, ms);
    return () => clearTimeout(timeout);
  },
};

/** Calls a function again and again, each time after a pause. Returns a function that stops it. */
export function every(clock: MonotonicClock, ms: number, run: () => void | Promise<void>): () => void {
  const over = new AbortController();
  const repeat = async (): Promise<void> => {
    for (;;) {
      await pauseUnlessAborted(clock, ms, over.signal);
      if (over.signal.aborted) return;
      await run();
    }
  };
  void repeat();
  return () => over.abort();
}

/** Waits; ends early when the signal aborts. */
export function pauseUnlessAborted(clock: MonotonicClock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      stop();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const stop = clock.timer(ms, end);
    signal.addEventListener("abort", end);
  });
}
