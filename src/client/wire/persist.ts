import type { AgentError } from "../../errors.ts";
import { backoffMs, pause } from "./clock.ts";
import type { Clock } from "./clock.ts";
import { isTransient } from "./problem.ts";

/** How long to retry: a time, a number of attempts, or both. */
export type Persistence = {
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
export async function persist<Result>(
  { clock, limitMs = Infinity, attempts = Infinity, signal }: Persistence,
  attempt: () => Promise<Result>,
): Promise<Result> {
  const startedAt = clock.monotonic();
  for (let failures = 0; ; failures += 1) {
    try {
      return await attempt();
    } catch (thrown) {
      if (signal?.aborted === true || failures + 1 >= attempts || !isTransient(thrown)) throw thrown;
      const { retryAfterS = 0 } = (thrown as AgentError).details;
      const waitMs = backoffMs(clock, failures, retryAfterS * 1_000);
      if (clock.monotonic() + waitMs - startedAt > limitMs) throw thrown;
      await pause(clock, waitMs, signal);
      signal?.throwIfAborted();
    }
  }
}
