import type { CallId } from "../protocol/ids.ts";
import type { Json } from "../protocol/json.ts";
import { isUnder } from "./call-id.ts";

/** A call that waits until its agent's memory of the run is free. */
interface Waiting {
  readonly callId: CallId;
  readonly agent: string;
  readonly start: (isNew: boolean) => void;
}

/**
 * What agents that share their memory of the run make of it in one turn. Of each such agent one call is
 * at work at a time and finds what the one before it has left.
 */
export class SharedMemory {
  /** What the calls that have ended want to keep, by agent. */
  readonly values: Map<string, Json>;
  readonly #holders: Map<string, CallId>;
  #waiting: readonly Waiting[] = [];

  constructor({
    staged,
    holders,
  }: {
    readonly staged: ReadonlyMap<string, Json>;
    readonly holders: ReadonlyMap<string, CallId>;
  }) {
    this.values = new Map(staged);
    this.#holders = new Map(holders);
  }

  /**
   * Starts a call as soon as no other has the memory of its agent, `isNew` unless the log says that it
   * was started before. The answer is no, and nothing starts, when it would wait for itself.
   */
  enter(callId: CallId, agent: string, start: (isNew: boolean) => void): boolean {
    const holder = this.#holders.get(agent);
    if (holder === undefined || holder === callId) {
      this.#holders.set(agent, callId);
      start(holder === undefined);
      return true;
    }
    if (this.#waitsFor(holder, callId)) return false;
    this.#waiting = [...this.#waiting, { callId, agent, start }];
    return true;
  }

  /** Notes that a call has ended; the next one of its agent starts. */
  leave(callId: CallId): void {
    this.#waiting = this.#waiting.filter((waiting) => waiting.callId !== callId);
    for (const [agent, holder] of this.#holders) {
      if (holder !== callId) continue;
      this.#holders.delete(agent);
      const next = this.#waiting.find((waiting) => waiting.agent === agent);
      if (next === undefined) continue;
      this.#waiting = this.#waiting.filter((waiting) => waiting !== next);
      this.#holders.set(agent, next.callId);
      // Later, when all that goes with the end of the call is recorded.
      queueMicrotask(() => next.start(true));
    }
  }

  /** Whether a holder cannot end before a call that is about to wait has ended. */
  #waitsFor(holder: CallId, callId: CallId): boolean {
    if (isUnder(callId, holder)) return true;
    return this.#waiting.some((waiting) => {
      const next = this.#holders.get(waiting.agent);
      return next !== undefined && isUnder(waiting.callId, holder) && this.#waitsFor(next, callId);
    });
  }
}
