import type { Environment } from "../../ports/environment.ts";

/** The time and randomness that a client needs. */
export type Clock = Pick<Environment, "monotonic" | "random" | "timer">;

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  random: Math.random,
  timer(ms, fire) {
    const timeout = setTimeout(fire, ms);
    return () => clearTimeout(timeout);
  },
};

/** Resolves with the result, or with `undefined` after the time limit. */
export async function within<Result>(
  clock: Clock,
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
export async function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = clock.timer(ms, resolve);
  try {
    await unlessAborted(promise, signal);
  } finally {
    stop();
  }
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
