import type { CallId } from "../protocol/ids.ts";

/** So long has a sleep to be that its turn is let go of meanwhile, in milliseconds: less is not worth the two commits. */
export const LONG_SLEEP_MS = 5_000;

/** The sleeps that a turn has open. */
export class Sleeps {
  readonly #ends = new Map<CallId, number>();
  readonly #long = new Set<CallId>();

  /** Whether one of them was long when it began, or when the code came to it again. */
  get anyLong(): boolean {
    return this.#long.size > 0;
  }

  /** When the first one ends, in milliseconds since 1970; `undefined` when there is none. */
  get firstEnd(): number | undefined {
    return this.#ends.size === 0 ? undefined : Math.min(...this.#ends.values());
  }

  /** The code sleeps from now on until a time. */
  add(callId: CallId, until: number, now: number): void {
    this.#ends.set(callId, until);
    if (until - now >= LONG_SLEEP_MS) this.#long.add(callId);
  }

  /** A sleep is over, or given up. */
  remove(callId: CallId): void {
    this.#ends.delete(callId);
    this.#long.delete(callId);
  }
}
