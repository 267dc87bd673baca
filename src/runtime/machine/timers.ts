import type { ActorOptions, AnyActorRef, AnyStateMachine, EventObject } from "xstate";
import type { CallId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { MachineCalls } from "./machine-calls.ts";
import type { MachineTimer } from "../journal/records.ts";
import { sleep } from "../actor/wait.ts";
import { toJson } from "../journal/json-limits.ts";

type MachineClock = NonNullable<ActorOptions<AnyStateMachine>["clock"]>;

type MachineSystem = AnyActorRef["system"];

/** The clock of a machine: its delays are sleeps of the turn, and continue after a restore. */
export class MachineTimers implements MachineClock {
  readonly #calls: MachineCalls;
  readonly #open = new Map<CallId, MachineTimer>();
  readonly #system: () => MachineSystem;
  /** The logged call for the next timer, if that timer is restored. */
  #adopted: CallId | undefined;

  constructor(calls: MachineCalls, system: () => MachineSystem) {
    this.#calls = calls;
    this.#system = system;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The open delays, for the record. */
  get kept(): readonly MachineTimer[] {
    return [...this.#open.values()];
  }

  /** Continues the delays that were open. */
  restore(machine: AnyActorRef, timers: readonly MachineTimer[]): void {
    for (const { callId, event, ms, id } of timers) {
      this.#adopted = callId;
      this.#system().scheduler.schedule(machine, machine, event as EventObject, ms, id);
    }
    this.#adopted = undefined;
  }

  setTimeout(fire: () => void, ms: number): CallId {
    const { actor } = this.#calls;
    const known = this.#adopted;
    const callId = known ?? this.#calls.issue();
    this.#open.set(callId, { callId, ms, ...this.#newestSchedule() });
    actor.turn.deliveries.expect(callId, (outcome) => {
      this.#open.delete(callId);
      if (outcome.ok && !this.#calls.ended) fire();
    });
    if (!actor.turn.journal.outcomes.has(callId)) sleep(actor, { callId, logged: known !== undefined }, ms);
    return callId;
  }

  clearTimeout(callId: CallId): void {
    if (this.#open.delete(callId)) this.#calls.drop(callId);
  }

  /** The delay that XState has just registered; the timer callback alone does not identify it. */
  #newestSchedule(): Pick<MachineTimer, "id" | "event"> {
    const { _scheduledEvents: scheduled } = this.#system().getSnapshot();
    const newest = Object.values(scheduled).at(-1);
    return { id: newest?.id ?? "", event: toJson(newest?.event ?? {}, "a delayed event") as JsonObject };
  }
}
