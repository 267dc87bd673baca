import type { AnyMachineSnapshot, AnyTransitionDefinition, EventObject } from "xstate";
import type { MachineStatus } from "../../protocol/events/events.ts";
import type { Json } from "../../protocol/json.ts";
import type { Actor } from "../actor/actor.ts";
import type { Turn } from "../agent/turn-api.ts";
import { checkName, toJson } from "../journal/json-limits.ts";
import type { Chart } from "./chart/chart.ts";
import { StateSteps } from "./chart/state-steps.ts";

/** The events of a machine in the log: its transitions, and what it emits. */
export class MachineEvents {
  readonly #turn: Turn;
  readonly #actor: Actor;
  readonly #chart: string;
  readonly #steps: StateSteps;

  constructor(turn: Turn, actor: Actor, { names, statechart }: Chart) {
    this.#turn = turn;
    this.#actor = actor;
    this.#chart = statechart.hash;
    this.#steps = new StateSteps(names);
  }

  /** The machine is about to process an event. */
  begin(event: EventObject): void {
    this.#steps.begin(event);
  }

  /** The machine takes transitions for the event. */
  step(event: EventObject, transitions: readonly AnyTransitionDefinition[]): void {
    this.#steps.add(event, transitions);
  }

  /** Logs the transitions that the machine took for its last event. */
  changed({ value }: AnyMachineSnapshot, status: MachineStatus): void {
    const taken = this.#steps.take(status);
    if (taken === undefined) return;
    const { cause, ...steps } = taken;
    this.#actor.turn.recorder.event(this.#actor.speaker, {
      type: "StateChanged",
      value: value as Json,
      cause,
      ...steps,
      status,
      chart: this.#chart,
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
