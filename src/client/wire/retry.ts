import { pause } from "./clock.ts";
import type { Clock } from "./clock.ts";
import { isTransient } from "./problem.ts";

/** How long to retry: a time, a number of attempts, or both. */
export type RetryLimits = {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
} & (
  | {
      /** After this time since the first attempt, a failure is final. */
      readonly limitMs: number;
      readonly attempts?: number;
    }
  | {
      readonly limitMs?: number;
      /** Maximum number of attempts, with the first one. */
      readonly attempts: number;
    }
);

/** Retries while the failure is transient. */
export async function retry<Result>(
  { clock, limitMs = Infinity, attempts = Infinity, signal }: RetryLimits,
  attempt: () => Promise<Result>,
): Promise<Result> {
  const startedAt = clock.monotonic();
  for (let failures = 0; ; failures += 1) {
    try {
      return await attempt();
    } catch (thrown) {
      if (signal?.aborted === true || failures + 1 >= attempts || !isTransient(thrown)) throw thrown;
      const { retryAfterS = 0 } = thrown.details;
      const waitMs = backoffMs(clock, failures, retryAfterS * 1_000);
      if (clock.monotonic() + waitMs - startedAt > limitMs) throw thrown;
      await pause(clock, waitMs, signal);
    }
  }
}

/**
 * The delay before a retry in milliseconds: doubles each time, up to 5 s, with jitter so that clients of one
 * server do not retry together. A delay that the server asks for is used, up to 30 s.
 */
export function backoffMs(clock: Clock, failures: number, askedMs: number = 0): number {
  const step = Math.min(FIRST_MS * 2 ** failures, LONGEST_MS);
  return Math.max((step * (1 + clock.random())) / 2, Math.min(askedMs, LONGEST_ASKED_MS));
}

const FIRST_MS = 200;
const LONGEST_MS = 5_000;
const LONGEST_ASKED_MS = 30_000;
