import type { RequestId, RunId } from "../protocol/ids.ts";

/** The outside world that the runtime needs; tests and simulations implement it themselves. */
export interface Environment {
  /** Milliseconds since 1970. */
  now(): number;

  /** Milliseconds of a clock that never goes back, for measuring durations. */
  monotonic(): number;

  /**
   * Calls `fire` once after `ms` milliseconds, which may exceed a 32-bit timer. Returns a function that stops it. A timer in
   * the background is for housekeeping: the process may end before it fires.
   */
  timer(ms: number, fire: () => void, options?: { readonly background?: boolean }): () => void;

  /**
   * Calls `fire` once at a time in milliseconds since 1970, by the clock of `now`. When the clock jumps forward over that
   * time, for example because the machine was suspended, it fires within a minute. When the clock is set back, it fires at
   * the latest after the duration that was left. Returns a function that stops it.
   */
  alarm(atMs: number, fire: () => void): () => void;

  /** Calls `run` in a later turn of the event loop, after all microtasks. */
  macrotask(run: () => void): void;

  /** A new id of 21 letters, digits, `_` and `-`, which does not begin with `-`. It may begin with the time, but cannot be guessed. */
  newId(): string;

  /** A random number from 0 (included) to 1 (excluded). */
  random(): number;

  /** Runs agent code so that errors it throws later, outside any call, can be attributed to its turn. */
  attribute<T>(turn: TurnAddress, run: () => T): T;
}

/** The turn that code runs for. */
export interface TurnAddress {
  readonly runId: RunId;
  readonly requestId: RequestId;
}
