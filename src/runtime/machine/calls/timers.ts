import type { ActorOptions, AnyActorRef, AnyStateMachine, EventObject } from "xstate";
import type { CallId } from "../../../protocol/ids.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { MachineTimer } from "../../journal/records.ts";
import { sleep } from "../../actor/waits.ts";
import { toJson } from "../../journal/json-limits.ts";
import { actorAt, toActorPath } from "./actor-path.ts";
import type { MachineCalls } from "./machine-calls.ts";

type MachineClock = NonNullable<ActorOptions<AnyStateMachine>["clock"]>;

/** A delay of a machine; its call is made when the transition that starts it is recorded. */
interface Delay {
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

/** The clock of a machine: its delays are sleeps of the turn, and continue after a restore. */
export class MachineTimers implements MachineClock {
  readonly #calls: MachineCalls;
  readonly #open = new Map<CallId, MachineTimer>();
  /** The ends of the delays. */
  readonly #ends = new Map<CallId, DelayEnd>();
  #root: AnyActorRef | undefined;
  /** The event for which the scheduler of XState sets its next timer: the callback of the timer does not say it. */
  #scheduled: Omit<MachineTimer, "callId" | "ms"> | undefined;
  /** The logged call for the next timer, if that timer is restored. */
  #adopted: CallId | undefined;

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

  /** Follows the scheduler of a machine that has not started yet. */
  follow(root: AnyActorRef): void {
    this.#root = root;
    const { scheduler } = root.system;
    const schedule = scheduler.schedule.bind(scheduler);
    scheduler.schedule = (source, target, event, ms, id) => {
      const from = toActorPath(source, root) ?? [];
      const to = toActorPath(target, root) ?? [];
      this.#scheduled = {
        id: id ?? "",
        event: toJson(event, "a delayed event") as JsonObject,
        ...(from.length > 0 && { source: from }),
        ...(to.length > 0 && { target: to }),
      };
      schedule(source, target, event, ms, id);
    };
  }

  /** Continues the delays that were open; those of an actor that is gone are over. */
  restore(timers: readonly MachineTimer[]): void {
    const root = this.#root;
    if (root === undefined) return;
    for (const { callId, event, ms, id, source = [], target = [] } of timers) {
      const from = actorAt(source, root);
      const to = actorAt(target, root);
      if (from === undefined || to === undefined) continue;
      this.#adopted = callId;
      root.system.scheduler.schedule(from, to, event as EventObject, ms, id);
    }
    this.#adopted = undefined;
  }

  setTimeout(fire: () => void, ms: number): Delay {
    const known = this.#adopted;
    const { id = "", event = {}, ...place } = this.#scheduled ?? {};
    const delay: Delay = { callId: known, isCleared: false };
    const start = (): void => {
      if (delay.isCleared || this.#calls.ended) return;
      const { actor } = this.#calls;
      const callId = known ?? this.#calls.issue();
      delay.callId = callId;
      const { environment } = actor.turn.context;
      this.#open.set(callId, { callId, ms, id, event, ...place });
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
    return delay;
  }

  clearTimeout(delay: Delay): void {
    delay.isCleared = true;
    const { callId } = delay;
    if (callId === undefined || !this.#open.delete(callId)) return;
    this.#ends.delete(callId);
    this.#calls.drop(callId);
  }
}

const NO_TIMERS: readonly MachineTimer[] = [];
