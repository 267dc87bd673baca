import type {
  AnyActorRef,
  AnyMachineSnapshot,
  AnyStateNode,
  AnyTransitionDefinition,
  EventObject,
} from "xstate";
import type { MachineStatus } from "../../protocol/actors.ts";
import type { StateStep } from "../../protocol/events/event-body.ts";
import type { Json } from "../../protocol/json.ts";
import type { Actor } from "../actor/actor.ts";
import type { Turn } from "../agent/turn-api.ts";
import { checkName, toJson } from "../journal/json-limits.ts";
import { pathOf } from "./chart/chart.ts";
import type { MachineChart, MachineCharts } from "./chart/chart.ts";
import type { EventNames } from "./chart/event-names.ts";
import type { ChildChange } from "./journaled-logic.ts";

/** Maximum length of the place of a machine inside the machine. */
const PLACE_LENGTH = 1_000;

/** The events of a machine in the log: its transitions, those of the machines inside it, and what it emits. */
export class MachineEvents {
  readonly #turn: Turn;
  readonly #actor: Actor;
  readonly #charts: MachineCharts;
  readonly #chart: string;
  readonly #steps: StateSteps;
  /** The microsteps of machines inside the machine for the event that they process. */
  readonly #inside = new WeakMap<AnyActorRef, Microstep[]>();
  /** The events that are values of callbacks and observables. */
  readonly #values = new WeakSet<EventObject>();
  /** Whether the machine processes such a value. */
  #isValue = false;
  /** The state after the event before. */
  #before: AnyMachineSnapshot | undefined;

  constructor(turn: Turn, actor: Actor, charts: MachineCharts) {
    const [own] = charts.values();
    const { names, statechart } = own as MachineChart;
    this.#turn = turn;
    this.#actor = actor;
    this.#charts = charts;
    this.#chart = statechart.hash;
    this.#steps = new StateSteps(names);
  }

  /** The state from which the machine continues. */
  known(snapshot: AnyMachineSnapshot): void {
    this.#before = snapshot;
  }

  /** A callback or an observable has given a value, which is nothing new if the state stays equal. */
  given(event: EventObject): void {
    this.#values.add(event);
  }

  /** The machine is about to process an event. */
  begin(event: EventObject): void {
    this.#isValue = this.#values.has(event);
    this.#steps.begin(event);
  }

  /** The machine takes transitions for the event. */
  step(event: EventObject, transitions: readonly AnyTransitionDefinition[]): void {
    this.#steps.add(event, transitions);
  }

  /** A machine inside the machine takes transitions for the event that it processes. */
  childStep(self: AnyActorRef, event: EventObject, transitions: readonly AnyTransitionDefinition[]): void {
    const steps = this.#inside.get(self);
    if (steps) steps.push({ event, transitions });
    else this.#inside.set(self, [{ event, transitions }]);
  }

  /** Logs the transitions that the machine took for its last event. */
  changed(snapshot: AnyMachineSnapshot, status: MachineStatus): void {
    const isNothingNew = this.#isValue && status === "active" && isEqual(this.#before, snapshot);
    this.#before = snapshot;
    if (isNothingNew) this.#steps.take(status);
    else this.#log(this.#steps, snapshot.value as Json, status, this.#chart);
  }

  /** Logs the transitions that a machine inside the machine took for an event. */
  childChanged({ self, machine, event, value, status }: ChildChange, path: readonly string[]): void {
    const chart = this.#charts.get(machine);
    const microsteps = this.#inside.get(self) ?? [];
    this.#inside.delete(self);
    if (chart === undefined) return;
    const steps = new StateSteps(chart.names);
    steps.begin(event);
    for (const step of microsteps) steps.add(step.event, step.transitions);
    this.#log(steps, value, status, chart.statechart.hash, path.join("/").slice(0, PLACE_LENGTH));
  }

  #log(steps: StateSteps, value: Json, status: MachineStatus, chart: string, machine?: string): void {
    const taken = steps.take(status);
    if (taken === undefined) return;
    const { cause, steps: some, isTruncated } = taken;
    this.#actor.turn.recorder.event(this.#actor.speaker, {
      type: "StateChanged",
      value,
      cause,
      steps: some,
      ...(isTruncated && { steps_truncated: true }),
      status,
      chart,
      ...(machine !== undefined && { machine }),
    });
  }

  /** Logs what the machine emits: its texts are texts of the agent. */
  emitted({ type, ...fields }: EventObject & { readonly content?: unknown }): void {
    if (type === "TextOutput") {
      void this.#turn.text(String(fields.content));
      return;
    }
    checkName(type, "the type of an emitted event");
    const body = toJson(fields, `the emitted event ${type}`);
    this.#actor.turn.recorder.event(this.#actor.speaker, { type: "Custom", name: type, body });
  }
}

/** Whether a machine is where it was, with the same context. */
function isEqual(before: AnyMachineSnapshot | undefined, { value, context }: AnyMachineSnapshot): boolean {
  return JSON.stringify([before?.value, before?.context]) === JSON.stringify([value, context]);
}

/** The transitions of one step. */
interface Microstep {
  readonly event: EventObject;
  readonly transitions: readonly AnyTransitionDefinition[];
}

/** The transitions that a machine took for an event. */
interface TakenSteps {
  /** The name of the event. */
  readonly cause: string;
  /** The first steps, if there were too many. */
  readonly steps: readonly StateStep[];
  readonly isTruncated: boolean;
}

/** Maximum number of steps in one event. */
const STEPS_LIMIT = 32;

/** The transitions that a machine takes for one event. */
class StateSteps {
  readonly #names: EventNames;
  #steps: StateStep[] = [];
  #isTruncated = false;
  #cause: string | undefined;
  /** Whether a transition was taken for the current event. */
  #isTaken = false;

  constructor(names: EventNames) {
    this.#names = names;
  }

  /** The machine is about to process an event. */
  begin(event: EventObject): void {
    this.#cause = this.#names.of(event.type);
    this.#isTaken = false;
  }

  /** Adds a microstep. */
  add(event: EventObject, transitions: readonly AnyTransitionDefinition[]): void {
    for (const { source, target = [], eventType, actions } of transitions) {
      if (target.length === 0 && actions.length === 0) continue;
      this.#isTaken ||= this.#cause !== undefined;
      const from = pathOf(source as AnyStateNode);
      const step: StateStep = eventType === "" ? { from } : { from, event: this.#names.of(event.type) };
      if (target.length === 0) this.#push(step);
      for (const state of target) this.#push({ ...step, to: pathOf(state as AnyStateNode) });
    }
  }

  /**
   * Removes and returns the steps of the current event; `undefined` if the machine took no transition for it, unless
   * the event ended it with an error.
   */
  take(status: MachineStatus): TakenSteps | undefined {
    const cause = this.#cause;
    if (cause === undefined || (!this.#isTaken && status !== "error")) return undefined;
    const taken = { cause, steps: this.#steps, isTruncated: this.#isTruncated };
    this.#steps = [];
    this.#isTruncated = false;
    this.#isTaken = false;
    return taken;
  }

  #push(step: StateStep): void {
    if (this.#steps.length < STEPS_LIMIT) this.#steps.push(step);
    else this.#isTruncated = true;
  }
}
