import { fromPromise } from "xstate";
import type { AnyActorLogic, AnyActorRef, AnyStateMachine, EventObject } from "xstate";
import type { Json } from "../../protocol/json.ts";
import { callOf } from "./actors.ts";
import type { ActorCall } from "./actors.ts";

/** A promise that a machine, or a machine inside it, has started. */
export interface StartedPromise {
  readonly src: string;
  /** The actor of the promise. */
  readonly self: AnyActorRef;
  readonly input: unknown;
  readonly signal: AbortSignal;
  readonly start: () => unknown;
  /** What it calls; absent for a promise of the machine itself. */
  readonly call: ActorCall | undefined;
}

/** The owner of a machine's actors. */
export interface LogicHost {
  /** Runs a promise as a call of the turn. */
  journal(promise: StartedPromise): Promise<Json>;
  /** The machine, not one inside it, is about to process an event. */
  beforeTransition(event: EventObject): void;
}

/** A machine in an endless loop is stopped after this many steps. */
const MAX_ITERATIONS = 1_000;

/** The machine with its promise actors journaled, also those of the machines that it invokes or spawns. */
export function withJournaledActors(machine: AnyStateMachine, host: LogicHost): AnyStateMachine {
  const journaled = new JournaledLogic(host).machine(machine);
  const { transition } = journaled;
  journaled.transition = (snapshot, event: EventObject, scope) => {
    host.beforeTransition(event);
    return transition(snapshot, event, scope);
  };
  return journaled;
}

class JournaledLogic {
  readonly #host: LogicHost;
  /** The machines that are being converted; one that contains itself is converted at the first place only. */
  readonly #converting = new Set<AnyStateMachine>();

  constructor(host: LogicHost) {
    this.#host = host;
  }

  machine(machine: AnyStateMachine): AnyStateMachine {
    if (this.#converting.has(machine)) return machine;
    this.#converting.add(machine);
    const actors = Object.entries(
      machine.implementations.actors as { readonly [src: string]: AnyActorLogic },
    ).map(([src, logic]): [string, AnyActorLogic] => [src, this.#logic(src, logic)]);
    this.#converting.delete(machine);
    const provided = machine.provide({ actors: Object.fromEntries(actors) }) as AnyStateMachine;
    if (provided.options.maxIterations === Infinity)
      Object.assign(provided.options, { maxIterations: MAX_ITERATIONS });
    return provided;
  }

  #logic(src: string, logic: AnyActorLogic): AnyActorLogic {
    if (isPromise(logic)) return this.#promise(src, logic, callOf(logic));
    return isMachine(logic) ? this.machine(logic) : logic;
  }

  #promise(src: string, { config }: PromiseLogic, call: ActorCall | undefined): AnyActorLogic {
    return fromPromise((scope) =>
      this.#host.journal({
        src,
        self: scope.self,
        input: scope.input,
        signal: scope.signal,
        start: () => config(scope),
        call,
      }),
    );
  }
}

type PromiseLogic = AnyActorLogic & { readonly config: (...args: readonly unknown[]) => unknown };

/**
 * All promise actors share one transition function that XState does not export; its source text identifies
 * it.
 */
const PROMISE_TRANSITION = String(fromPromise(async () => {}).transition);

function isPromise(logic: AnyActorLogic): logic is PromiseLogic {
  return String(logic.transition) === PROMISE_TRANSITION;
}

/** Machines can come from another copy of XState, so their class does not identify them. */
function isMachine(logic: AnyActorLogic): logic is AnyStateMachine {
  return "implementations" in logic && "provide" in logic && typeof logic.provide === "function";
}
