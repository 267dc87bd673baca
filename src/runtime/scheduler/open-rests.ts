import type { WaitingFor } from "../../protocol/answers/status.ts";
import { toTimestamp } from "../../protocol/events/encode.ts";
import type { Callee } from "../../protocol/events/events.ts";
import type { CallId, RequestId } from "../../protocol/ids.ts";
import type { Wait } from "../replay/turn-journal.ts";
import { LazyMap, LazySet } from "../lazy.ts";

/**
 * What an open call waits for from outside its turn; `until` is its deadline in milliseconds since 1970. A new kind of
 * waiting needs a member here, one in `WaitingFor` and one in `toWaitingFor`.
 */
export type Rest =
  | { readonly kind: "input"; readonly waitId: number; readonly until?: number }
  | { readonly kind: "sleep"; readonly until: number }
  | { readonly kind: "message"; readonly name: string; readonly until?: number }
  | {
      readonly kind: "actor";
      readonly callee: Callee & { readonly request_id: RequestId };
      readonly until?: number;
    };

/** Asks of one turn in the index; a turn that rests on more is not examined for a deadlock. */
const ASKS_LIMIT = 32;

/** Minimum duration of a rest without a wait for which the index is written, in milliseconds: it costs two commits. */
const LONG_REST_MS = 5_000;

/** The open calls of a turn that wait for something from outside the turn. */
export class OpenRests {
  readonly #rests = new LazyMap<CallId, Rest>();
  readonly #long = new LazySet<CallId>();
  /** The deadlines of other calls. */
  readonly #deadlines = new LazyMap<CallId, number>();
  #sleeps = 0;

  get size(): number {
    return this.#rests.size;
  }

  /** How many of them are sleeps. */
  get sleeps(): number {
    return this.#sleeps;
  }

  /** Whether one of them, which is no wait, was long when it began or was replayed. */
  get anyLong(): boolean {
    return this.#long.size > 0;
  }

  /**
   * The first deadline, in milliseconds since 1970; `undefined` when there is none. Code may have computed a fraction, and
   * an engine stores whole milliseconds.
   */
  get firstEnd(): number | undefined {
    let first = Infinity;
    for (const { until = Infinity } of this.#rests.values()) if (until < first) first = until;
    for (const until of this.#deadlines.values()) if (until < first) first = until;
    return first === Infinity ? undefined : Math.ceil(first);
  }

  /** What the status of the request shows if no wait is open: the oldest one. */
  get oldest(): WaitingFor | undefined {
    for (const rest of this.#rests.values()) return toWaitingFor(rest);
    return undefined;
  }

  /** The asks that the turn rests on, if it rests on nothing else and none has a deadline; `undefined` otherwise. */
  get asks(): readonly RequestId[] | undefined {
    const asks: RequestId[] = [];
    for (const rest of this.#rests.values()) {
      if (rest.kind !== "actor" || rest.until !== undefined || asks.length === ASKS_LIMIT) return undefined;
      asks.push(rest.callee.request_id);
    }
    return asks.length === 0 ? undefined : asks;
  }

  /** A call rests from now on. */
  add(callId: CallId, rest: Rest, now: number): void {
    if (rest.kind === "sleep" && !this.#rests.has(callId)) this.#sleeps += 1;
    this.#rests.set(callId, rest);
    if (rest.kind !== "input" && isLong(rest.until, now)) this.#long.add(callId);
  }

  /** Adds the deadline of a call that is no rest itself; it does not depend on the calls below it. */
  addDeadline(callId: CallId, until: number): void {
    this.#deadlines.set(callId, until);
  }

  /** A call has ended. */
  remove(callId: CallId): void {
    this.#deadlines.delete(callId);
    if (this.#rests.size === 0) return;
    if (this.#rests.get(callId)?.kind === "sleep") this.#sleeps -= 1;
    this.#rests.delete(callId);
    this.#long.delete(callId);
  }
}

/** A wait as a rest. */
export function toRest({ waitId, expiresAt: until }: Wait): Rest {
  return { kind: "input", waitId, ...(until !== undefined && { until }) };
}

/** Whether a rest that ends at a time is worth the commits of a passivation. */
export function isLong(until: number | undefined, now: number): boolean {
  return until === undefined || until - now >= LONG_REST_MS;
}

/** A rest as the status of a request shows it. */
function toWaitingFor(rest: Rest): WaitingFor {
  switch (rest.kind) {
    case "input": {
      const { waitId: wait_id, until } = rest;
      return { kind: "input", wait_id, ...(until !== undefined && { expires_at: toTimestamp(until) }) };
    }
    case "sleep":
      return { kind: "sleep", expires_at: toTimestamp(rest.until) };
    case "message": {
      const { name, until } = rest;
      return { kind: "message", name, ...(until !== undefined && { expires_at: toTimestamp(until) }) };
    }
    case "actor": {
      const { callee, until } = rest;
      const { name: agent, key, run_id, request_id } = callee;
      return {
        kind: "actor",
        agent,
        ...(key !== undefined && { key }),
        ...(run_id !== undefined && { run_id }),
        request_id,
        ...(until !== undefined && { expires_at: toTimestamp(until) }),
      };
    }
    default: {
      const never: never = rest;
      return never;
    }
  }
}
