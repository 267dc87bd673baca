import type { CallId } from "../../protocol/ids.ts";
import { LazyMap, LazySet } from "../lazy.ts";

/** Minimum sleep for passivation, in milliseconds. Shorter sleeps do not pay for the two extra commits. */
export const LONG_SLEEP_MS = 5_000;

/** The open sleeps of a turn. */
export class OpenSleeps {
  readonly #ends = new LazyMap<CallId, number>();
  readonly #long = new LazySet<CallId>();

  get size(): number {
    return this.#ends.size;
  }

  /** Whether one of them was long when it began or was replayed. */
  get anyLong(): boolean {
    return this.#long.size > 0;
  }

  /** The end of the first one, in milliseconds since 1970; `undefined` when there is none. */
  get firstEnd(): number | undefined {
    let first: number | undefined;
    for (const end of this.#ends.values()) if (first === undefined || end < first) first = end;
    return first;
  }

  /** The code sleeps from now until a time. */
  add(callId: CallId, until: number, now: number): void {
    this.#ends.set(callId, until);
    if (until - now >= LONG_SLEEP_MS) this.#long.add(callId);
  }

  /** A sleep is over or dropped. */
  remove(callId: CallId): void {
    this.#ends.delete(callId);
    this.#long.delete(callId);
  }
}
