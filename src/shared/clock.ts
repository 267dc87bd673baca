/** What waiting needs; an `Environment` has it too. */
export interface MonotonicClock {
  /** Milliseconds of a clock that never goes back, for measuring durations. */
  monotonic(): number;
  /** Calls `fire` once after `ms` milliseconds. Returns a function that stops it. */
  timer(ms: number, fire: () => void): () => void;
}

/** What waiting between attempts needs. */
export interface Clock extends MonotonicClock {
  /** A random number from 0 (included) to 1 (excluded). */
  random(): number;
}

type Timers = Pick<MonotonicClock, "timer">;

/** Resolves with the result, or with `undefined` after the time limit. */
export async function within<Result>(
  clock: Timers,
  ms: number,
  asked: Promise<Result>,
): Promise<Result | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stop = clock.timer(ms, () => resolve(undefined));
  try {
    return await Promise.race([asked, promise]);
  } finally {
    stop();
  }
}

/** Waits; rejects early, with the reason of the signal, when it aborts. */
export async function pause(clock: Timers, ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = clock.timer(ms, resolve);
  try {
    await unlessAborted(promise, signal);
  } finally {
    stop();
  }
}

/** Waits; ends early when the signal aborts. */
export async function pauseUnlessAborted(clock: Timers, ms: number, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await pause(clock, ms, signal).catch(() => {});
}

/** Rejects early, with the reason of the signal, when it aborts. */
export async function unlessAborted<Result>(
  asked: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal?.reason);
  if (signal?.aborted === true) stop();
  signal?.addEventListener("abort", stop);
  try {
    return await Promise.race([promise, asked]);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/** Calls a function again and again, each time after a pause. Returns a function that stops it. */
export function every(clock: Timers, ms: number, run: () => void | Promise<void>): () => void {
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
