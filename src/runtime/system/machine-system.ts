import type { AnyActorRef, InspectionEvent } from "xstate";
import type { AnyActorSystem, SystemInternals, UnplacedEvent } from "./actor-system.ts";

/** Sets the timers of a machine. */
export type MachineScheduler = AnyActorSystem["scheduler"];

/** What a machine has for itself. */
export interface OwnParts {
  readonly scheduler: MachineScheduler;
  /** Sees what happens in the machine and in the actors inside it, after all other inspectors. */
  readonly inspect: (event: InspectionEvent) => void;
}

/**
 * The part of an actor system that a machine and the actors inside it are in. It has timers of its own, which are sleeps of
 * the turn, and names of its own, so that two machines can use the same `systemId`; the rest is that of the whole system.
 */
function machineSystem(whole: SystemInternals, { scheduler, inspect }: OwnParts): AnyActorSystem {
  const named = new Map<string, AnyActorRef>();
  const names = new Map<AnyActorRef, string>();
  const own: Partial<SystemInternals> = {
    scheduler,
    get: (systemId) => named.get(systemId as string),
    getAll: () => Object.fromEntries(named),
    _set(systemId, actor) {
      const before = named.get(systemId);
      if (before !== undefined && before !== actor)
        throw new Error(`Actor with system ID '${systemId}' already exists.`);
      named.set(systemId, actor);
      names.set(actor, systemId);
    },
    _unregister(actor) {
      whole._unregister(actor);
      const systemId = names.get(actor);
      if (systemId === undefined) return;
      names.delete(actor);
      named.delete(systemId);
    },
    _relay(source, target, event) {
      own._sendInspectionEvent?.({ type: "@xstate.event", sourceRef: source, actorRef: target, event });
      (target as Receiver)._send(event);
    },
    _sendInspectionEvent(event: UnplacedEvent) {
      whole._sendInspectionEvent(event);
      inspect(event as InspectionEvent);
    },
  };
  return Object.assign(Object.create(whole) as AnyActorSystem, own);
}

/** An actor that takes an event. */
interface Receiver extends AnyActorRef {
  _send(event: unknown): void;
}

/** Creates a machine in a part of the system of its own: an actor takes the system of its parent. */
export function inMachineSystem<Machine extends AnyActorRef>(
  parent: AnyActorRef,
  parts: OwnParts,
  create: () => Machine,
): Machine {
  const { system } = parent;
  parent.system = machineSystem(system as unknown as SystemInternals, parts);
  try {
    return create();
  } finally {
    parent.system = system;
  }
}
