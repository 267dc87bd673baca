import type { AnyActorRef, EventObject } from "xstate";
import type { CallId } from "../../../protocol/ids.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { MachineTimer } from "../../journal/records.ts";
import { sleep } from "../../actor/waits.ts";
import { toJson } from "../../journal/json-limits.ts";
import { relay } from "../../system/actor-system.ts";
import type { MachineScheduler } from "../../system/machine-system.ts";
import { actorAt, toActorPath } from "./actor-path.ts";
import type { MachineCalls } from "./machine-calls.ts";

/** A delay of a machine; its call is made when the transition that starts it is recorded. */
interface Delay {
  readonly source: AnyActorRef;
  callId: CallId | undefined;
  isCleared: boolean;
}

/** The end of a delay. */
interface DelayEnd {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Ends the delay now. */
  readonly end: () => void;
}

/** Sets the timers of a machine: its delays are sleeps of the turn, and continue after a restore. */
export class MachineTimers implements MachineScheduler {
  readonly #calls: MachineCalls;
  readonly #open = new Map<CallId, MachineTimer>();
  /** The ends of the delays. */
  readonly #ends = new Map<CallId, DelayEnd>();
  /** The delays by the session of their source, and their name. */
  readonly #delays = new Map<string, Delay>();
  #root: AnyActorRef | undefined;
  #unnamed = 0;

  constructor(calls: MachineCalls) {
    this.#calls = calls;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The open delays, for the record. */
  get kept(): readonly MachineTimer[] {
    return this.#open.size === 0 ? NO_TIMERS : [...this.#open.values()];
  }

  /** When the first open delay of the machine itself with one of these events ends, in milliseconds since 1970. */
  firstEnd(events: ReadonlySet<string>): number | undefined {
    let first: number | undefined;
    for (const { callId, event, target } of this.#open.values()) {
      const { type } = event;
      if (target !== undefined || typeof type !== "string" || !events.has(type)) continue;
      const { at } = this.#ends.get(callId) ?? {};
      if (at !== undefined && (first === undefined || at < first)) first = at;
    }
    return first;
  }

  /** Ends the delays whose time has passed; their timers are late if the wall clock was set forwards. */
  endPast(): void {
    const now = this.#calls.actor.turn.context.environment.now();
    for (const { at, end } of this.#ends.values()) if (at <= now) end();
  }

  /** Sets the timers of a machine that has not started yet, and of the machines inside it. */
  follow(root: AnyActorRef): void {
    this.#root = root;
  }

  /** Continues the delays that were open; those of an actor that is gone are over. */
  restore(timers: readonly MachineTimer[]): void {
    const root = this.#root;
    if (root === undefined) return;
    for (const timer of timers) {
      const { callId, source = [], target = [] } = timer;
      const from = actorAt(source, root);
      const to = actorAt(target, root);
      if (from !== undefined && to !== undefined) this.#set(from, to, timer, callId);
    }
  }

  schedule(source: AnyActorRef, target: AnyActorRef, event: EventObject, ms: number, id?: string): void {
    const root = this.#root;
    const to = root && toActorPath(target, root);
    // What is outside the machine takes no events.
    if (root === undefined || to === undefined) return;
    const from = toActorPath(source, root) ?? [];
    this.#set(source, target, {
      ms,
      id: id ?? "",
      event: toJson(event, "a delayed event") as JsonObject,
      ...(from.length > 0 && { source: from }),
      ...(to.length > 0 && { target: to }),
    });
  }

  cancel(source: AnyActorRef, id: string): void {
    const key = keyOf(source, id);
    const delay = this.#delays.get(key);
    this.#delays.delete(key);
    if (delay) this.#clear(delay);
  }

  cancelAll(source: AnyActorRef): void {
    for (const [key, delay] of this.#delays) {
      if (delay.source !== source) continue;
      this.#delays.delete(key);
      this.#clear(delay);
    }
  }

  /** Starts a delay; `known` is its logged call, if it is restored. */
  #set(source: AnyActorRef, target: AnyActorRef, timer: Omit<MachineTimer, "callId">, known?: CallId): void {
    const { ms, event } = timer;
    const delay: Delay = { source, callId: known, isCleared: false };
    // One without a name cannot be canceled by it.
    const key = keyOf(source, timer.id === "" ? ` ${(this.#unnamed += 1)}` : timer.id);
    this.#delays.set(key, delay);
    const fire = (): void => {
      if (this.#delays.get(key) === delay) this.#delays.delete(key);
      relay(source, target, event as EventObject);
    };
    const start = (): void => {
      if (delay.isCleared || this.#calls.ended) return;
      const { actor } = this.#calls;
      const callId = known ?? this.#calls.issue();
      delay.callId = callId;
      const { environment } = actor.turn.context;
      this.#open.set(callId, { ...timer, callId });
      const before = actor.turn.journal.calls.get(callId);
      const at = before?.wakeAt ?? environment.now() + ms;
      this.#ends.set(callId, { at, end() {} });
      actor.turn.deliveries.expect(callId, (outcome) => {
        this.#open.delete(callId);
        this.#ends.delete(callId);
        if (outcome.ok && !this.#calls.ended && !actor.turn.isRehearsed) fire();
      });
      if (before?.outcome) return;
      const end = sleep(actor, { callId, logged: known !== undefined }, ms);
      if (this.#ends.has(callId)) this.#ends.set(callId, { at, end });
    };
    if (known === undefined) this.#calls.afterTransition(start);
    else start();
  }

  #clear(delay: Delay): void {
    delay.isCleared = true;
    const { callId } = delay;
    if (callId === undefined || !this.#open.delete(callId)) return;
    this.#ends.delete(callId);
    this.#calls.drop(callId);
  }
}

function keyOf({ sessionId }: AnyActorRef, id: string): string {
  return `${sessionId}.${id}`;
}

const NO_TIMERS: readonly MachineTimer[] = [];
