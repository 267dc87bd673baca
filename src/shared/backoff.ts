/** How long the pauses between attempts are. */
export interface Backoff {
  /** The pause after the first failure, in milliseconds. */
  readonly firstMs: number;
  /** The longest pause, in milliseconds. Default: no limit. */
  readonly mostMs?: number;
}

/** Beyond this the pause does not grow, so that it stays a number. */
const MOST_DOUBLED = 50;

/**
 * The pause before the next attempt, in milliseconds: each is twice the one before. `failures` counts the failed attempts
 * before the last one, so it is 0 after the first failure. With `random`, a number from 0 to 1, the pause is between its half
 * and its whole, so that those who failed together do not try again together.
 */
export function backoffMs({ firstMs, mostMs = Infinity }: Backoff, failures: number, random = 1): number {
  const pauseMs = Math.min(firstMs * 2 ** Math.min(failures, MOST_DOUBLED), mostMs);
  return (pauseMs * (1 + random)) / 2;
}
