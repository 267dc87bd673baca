import { createActor, fromPromise } from "xstate";
import type {
  Actor,
  ActorOptions,
  AnyActorLogic,
  AnyActorRef,
  AnyMachineSnapshot,
  AnyStateMachine,
  EventObject,
} from "xstate";
import type { MachineStatus } from "../../protocol/actors.ts";
import type { Json } from "../../protocol/json.ts";
import { inMachineSystem } from "../system/machine-system.ts";
import type { OwnParts } from "../system/machine-system.ts";
import { callOf } from "./actors.ts";
import type { ActorCall } from "./actors.ts";
import { isMachine } from "./chart/chart.ts";
import { isPromise, isStarted } from "./copies.ts";
import type { PromiseLogic, StartedLogic } from "./copies.ts";

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

/** What a machine is created with. */
export interface ChildMachineOptions extends ActorOptions<AnyStateMachine>, OwnParts {
  readonly parent: AnyActorRef;
  readonly inspect: OwnParts["inspect"];
}

/** The owner of a machine's actors. */
export interface LogicHost {
  /** Whether nothing outside the machine is started. */
  readonly isRehearsed: boolean;
  /** Runs a promise as a call of the turn. */
  journal(promise: StartedPromise): Promise<Json>;
  /** The machine, not one inside it, is about to process an event. */
  beforeTransition(event: EventObject): void;
  /** A machine inside the machine has processed an event; its actions, and what it starts, come next. */
  childChanged(change: ChildChange): void;
}

/** What an event did to a machine inside the machine. */
export interface ChildChange {
  readonly self: AnyActorRef;
  /** The machine as the agent's definition has it. */
  readonly machine: AnyStateMachine;
  readonly event: EventObject;
  readonly value: Json;
  readonly status: MachineStatus;
}

/** A machine in an endless loop is stopped after this many steps. */
const MAX_ITERATIONS = 1_000;

/** The hosts of running machines by their systems; the actors inside a machine have its system. */
class Hosts {
  readonly #hosts = new WeakMap<AnyActorRef["system"], LogicHost>();

  add({ system }: AnyActorRef, host: LogicHost): void {
    this.#hosts.set(system, host);
  }

  of({ system }: { readonly system: AnyActorRef["system"] }): LogicHost {
    return this.#hosts.get(system) as LogicHost;
  }
}

/**
 * A machine with its promise actors journaled, also those of the machines that it invokes or spawns. All turns of an
 * agent share one, because XState takes longer to build a machine than to run a short turn of it.
 */
export class JournaledMachine {
  readonly #hosts = new Hosts();
  readonly #machine: AnyStateMachine;

  constructor(machine: AnyStateMachine) {
    const hosts = this.#hosts;
    const journaled = new JournaledLogic(hosts).machine(machine);
    const { transition } = journaled;
    journaled.transition = (snapshot, event: EventObject, scope) => {
      hosts.of(scope).beforeTransition(event);
      return transition(snapshot, event, scope);
    };
    this.#machine = journaled;
  }

  /** Creates an actor of the machine below that of its handler, to be started by the host. */
  create(host: LogicHost, { parent, ...options }: ChildMachineOptions): Actor<AnyStateMachine> {
    const { scheduler, inspect, ...more } = options;
    const actor = inMachineSystem(parent, { scheduler, inspect }, () =>
      createActor(this.#machine, { ...more, parent }),
    );
    this.#hosts.add(actor, host);
    return actor;
  }
}

class JournaledLogic {
  readonly #hosts: Hosts;
  /** The machines that are being converted; one that contains itself is converted at the first place only. */
  readonly #converting = new Set<AnyStateMachine>();

  constructor(hosts: Hosts) {
    this.#hosts = hosts;
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
    if (isMachine(logic)) return this.#child(logic);
    return isStarted(logic) ? this.#outside(logic) : logic;
  }

  /** A callback or an observable, which a machine that is only rehearsed does not start. */
  #outside(logic: StartedLogic): AnyActorLogic {
    const start: StartedLogic["start"] = (state, scope) => {
      if (!this.#hosts.of(scope).isRehearsed) logic.start(state, scope);
    };
    return Object.create(logic, { start: { value: start } }) as AnyActorLogic;
  }

  /** A machine inside the machine, whose transitions the host gets. */
  #child(machine: AnyStateMachine): AnyStateMachine {
    const journaled = this.machine(machine);
    // One that contains itself is not converted again.
    if (journaled === machine) return machine;
    const { transition } = journaled;
    journaled.transition = (snapshot: AnyMachineSnapshot, event: EventObject, scope) => {
      const changed = ({ value, status }: AnyMachineSnapshot): void =>
        this.#hosts.of(scope).childChanged({
          self: scope.self,
          machine,
          event,
          value: value as Json,
          status: status === "stopped" ? "active" : status,
        });
      let next: AnyMachineSnapshot;
      try {
        next = transition(snapshot, event, scope) as AnyMachineSnapshot;
      } catch (error) {
        changed({ ...snapshot, status: "error" } as AnyMachineSnapshot);
        throw error;
      }
      changed(next);
      return next;
    };
    return journaled;
  }

  #promise(src: string, { config }: PromiseLogic, call: ActorCall | undefined): AnyActorLogic {
    return fromPromise((scope) =>
      this.#hosts.of(scope).journal({
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
