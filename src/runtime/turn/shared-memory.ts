import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { isUnder, pathTo } from "../journal/call-id.ts";

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
  readonly #waiting = new Map<CallId, Waiting>();
  /** Those that wait by their agent, the oldest first. */
  readonly #waitingFor = new Map<string, Set<Waiting>>();
  /** How many wait for each agent under each call. */
  readonly #waitingUnder = new Map<string, Map<string, number>>();

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
    this.#wait({ callId, agent, start });
    return true;
  }

  /** Notes that a call has ended; the next one of its agent starts. */
  leave(callId: CallId): void {
    this.#waitNoMore(this.#waiting.get(callId));
    for (const [agent, holder] of this.#holders) {
      if (holder !== callId) continue;
      this.#holders.delete(agent);
      const [next] = this.#waitingFor.get(agent) ?? [];
      if (next === undefined) continue;
      this.#waitNoMore(next);
      this.#holders.set(agent, next.callId);
      // Later, when all that goes with the end of the call is recorded.
      queueMicrotask(() => next.start(true));
    }
  }

  /** Whether a holder cannot end before a call that is about to wait has ended. */
  #waitsFor(holder: CallId, callId: CallId): boolean {
    if (isUnder(callId, holder)) return true;
    for (const agent of this.#waitingUnder.get(holder)?.keys() ?? []) {
      const next = this.#holders.get(agent);
      if (next !== undefined && this.#waitsFor(next, callId)) return true;
    }
    return false;
  }

  #wait(waiting: Waiting): void {
    const { callId, agent } = waiting;
    this.#waiting.set(callId, waiting);
    const queue = this.#waitingFor.get(agent) ?? new Set();
    this.#waitingFor.set(agent, queue.add(waiting));
    this.#count(waiting, 1);
  }

  #waitNoMore(waiting: Waiting | undefined): void {
    if (waiting === undefined) return;
    this.#waiting.delete(waiting.callId);
    this.#waitingFor.get(waiting.agent)?.delete(waiting);
    this.#count(waiting, -1);
  }

  #count({ callId, agent }: Waiting, step: number): void {
    for (const above of pathTo(callId)) {
      const counts = this.#waitingUnder.get(above) ?? new Map<string, number>();
      this.#waitingUnder.set(above, counts);
      const count = (counts.get(agent) ?? 0) + step;
      if (count > 0) counts.set(agent, count);
      else counts.delete(agent);
    }
  }
}
