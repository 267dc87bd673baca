import { backoffMs } from "../../shared/backoff.ts";
import { pause } from "../../shared/clock.ts";
import type { Clock } from "../../shared/clock.ts";
import { isRetryable } from "./problem.ts";

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
      if (signal?.aborted === true || failures + 1 >= attempts || !isRetryable(thrown)) throw thrown;
      const { retryAfterS = 0 } = thrown.details;
      const waitMs = retryDelayMs(clock, failures, retryAfterS * 1_000);
      if (clock.monotonic() + waitMs - startedAt > limitMs) throw thrown;
      await pause(clock, waitMs, signal);
    }
  }
}

/**
 * The delay before a retry in milliseconds: up to 5 s, with jitter so that clients of one server do not retry together. A
 * delay that the server asks for is used, up to 30 s.
 */
export function retryDelayMs(clock: Clock, failures: number, askedMs: number = 0): number {
  return Math.max(backoffMs(RETRY, failures, clock.random()), Math.min(askedMs, LONGEST_ASKED_MS));
}

const RETRY = { firstMs: 200, mostMs: 5_000 };
const LONGEST_ASKED_MS = 30_000;
