import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { pathTo } from "../journal/call-id.ts";
import { isUnder } from "../../protocol/ids.ts";

/** A call that waits until the memory of its agent is free. */
interface Waiting {
  readonly callId: CallId;
  readonly agent: string;
  readonly start: (isNew: boolean) => void;
}

/**
 * The memory that agents share over the run, as it changes in one turn. Each such agent has one active call at a
 * time, which starts with the memory that the previous call left.
 */
export class SharedMemory {
  /** The memory that ended calls have set, by agent. */
  readonly values: Map<string, Json>;
  readonly #holders: Map<string, CallId>;
  readonly #waiting = new Map<CallId, Waiting>();
  /** The waiting calls by agent, oldest first. */
  readonly #waitingFor = new Map<string, Set<Waiting>>();
  /** The number of waiting calls by call above them and by agent. */
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
   * Starts a call as soon as no other call holds the memory of its agent; `isNew` is false if the log says that
   * it was started before. Returns false, and starts nothing, if the call would wait for itself.
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

  /** Registers the end of a call; the next one of its agent starts. */
  leave(callId: CallId): void {
    this.#waitNoMore(this.#waiting.get(callId));
    for (const [agent, holder] of this.#holders) {
      if (holder !== callId) continue;
      this.#holders.delete(agent);
      const [next] = this.#waitingFor.get(agent) ?? [];
      if (next === undefined) continue;
      this.#waitNoMore(next);
      this.#holders.set(agent, next.callId);
      // In a microtask, after the end of the call is recorded.
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
    const { callId, agent } = waiting;
    this.#waiting.delete(callId);
    const queue = this.#waitingFor.get(agent);
    queue?.delete(waiting);
    if (queue?.size === 0) this.#waitingFor.delete(agent);
    this.#count(waiting, -1);
  }

  #count({ callId, agent }: Waiting, step: number): void {
    for (const above of pathTo(callId)) {
      const counts = this.#waitingUnder.get(above) ?? new Map<string, number>();
      const count = (counts.get(agent) ?? 0) + step;
      if (count > 0) counts.set(agent, count);
      else counts.delete(agent);
      if (counts.size > 0) this.#waitingUnder.set(above, counts);
      else this.#waitingUnder.delete(above);
    }
  }
}
