import type { AnyStateNode, AnyTransitionDefinition, EventObject } from "xstate";
import type { MachineStatus, StateStep } from "../../../protocol/events/events.ts";
import { pathOf } from "./chart.ts";
import type { EventNames } from "./event-names.ts";

/** The transitions that a machine took for an event. */
export interface TakenSteps {
  /** The name of the event. */
  readonly cause: string;
  /** The first steps, if there were too many. */
  readonly steps: readonly StateStep[];
  readonly isTruncated: boolean;
}

/** Maximum number of steps in one event. */
const STEPS_LIMIT = 32;

/** The transitions that a machine takes for one event. */
export class StateSteps {
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
