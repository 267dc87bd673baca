import type { RequestId, RunId } from "../protocol/ids.ts";

/** The outside world as far as the runtime needs it; a test or a simulation brings its own. */
export interface Environment {
  /** Milliseconds since 1970. */
  now(): number;

  /** Milliseconds of a clock that never goes back; for measuring spans. */
  monotonic(): number;

  /** Calls `fire` once after `ms` milliseconds, which may be more than fit a 32-bit timer. Returns how to stop it. */
  timer(ms: number, fire: () => void): () => void;

  /** Calls `run` in a later turn of the event loop, after all microtasks. */
  macrotask(run: () => void): void;

  /** A new unguessable id of 21 letters, digits, `_` and `-`. */
  newId(): string;

  /** A number from 0 up to but not including 1. */
  random(): number;

  /** Runs agent code such that what it throws later, out of any call, can be traced to its turn. */
  attribute<T>(turn: TurnAddress, run: () => T): T;
}

/** Which turn some code works for. */
export interface TurnAddress {
  readonly runId: RunId;
  readonly requestId: RequestId;
}
