import { createActor } from "xstate";
import type { AnyActorRef, AnyMachineSnapshot, AnyStateNode, Snapshot } from "xstate";
import type { Json } from "../../protocol/json.ts";
import { notAccepted } from "../agent/accepted-operations.ts";
import type { MachineFacts } from "../agent/accepted-operations.ts";
import type { MachineState } from "../journal/records.ts";
import type { MachineEvent } from "./machine-input.ts";
import { fromKept, toFitting } from "./stored-state.ts";
import type { StoredMachine } from "./stored-state.ts";

/**
 * Throws `not_accepted` unless a machine has a transition for an event in this state. A guard that throws counts as
 * false.
 */
export function checkTaken(facts: MachineFacts, snapshot: AnyMachineSnapshot, event: MachineEvent): void {
  if (!takes(snapshot, event)) throw notAccepted(facts, event.type, snapshot.value as Json);
}

/**
 * Throws `not_accepted` unless a machine that is not running would take an event in its kept state, or in its first
 * one. A new machine that starts work by itself, or ends at once, takes every event; so does one whose kept state does not fit:
 * its turn is held.
 */
export function checkTakenWhenStopped(
  { facts, ...stored }: StoredMachine & { readonly facts: MachineFacts },
  event: MachineEvent,
  kept: Json | undefined,
): void {
  const before = fromKept(kept);
  const fitting = before && toFitting(stored, before);
  if (fitting?.misfit) return;
  const isNew = fitting === undefined;
  const snapshot = stoppedIn(stored, fitting?.state, event);
  if (isNew && (snapshot.status !== "active" || startsSomething(snapshot))) return;
  checkTaken(facts, snapshot, event);
}

/**
 * The snapshot of a machine as an open turn has logged it, or as it was kept behind the newest turn; a new machine's first one.
 * Throws if the machine does not fit it.
 */
export function snapshotOf(
  stored: StoredMachine,
  { open, kept }: { readonly open?: MachineState | undefined; readonly kept?: Json | undefined },
  input: object,
): AnyMachineSnapshot {
  const before = open ?? fromKept(kept);
  const fitting = before && toFitting(stored, before);
  if (fitting?.misfit) throw new Error(fitting.misfit.message);
  return stoppedIn(stored, fitting?.state, input);
}

/** The snapshot of a machine that is not running. */
function stoppedIn(
  { machine }: StoredMachine,
  state: MachineState | undefined,
  input: object,
): AnyMachineSnapshot {
  // The actor is never started, so none of its actions and children run.
  const actor = createActor(machine, {
    input,
    ...(state && { snapshot: state.snapshot as unknown as Snapshot<unknown> }),
  });
  return actor.getSnapshot() as AnyMachineSnapshot;
}

/** Whether a machine, in its first state, does more than wait for an event. */
export function startsSomething(snapshot: AnyMachineSnapshot): boolean {
  const { _nodes: nodes } = snapshot;
  return (
    Object.keys(snapshot.children).length > 0 ||
    snapshot.hasTag("wait") ||
    (nodes as readonly AnyStateNode[]).some(({ after }) => after.length > 0)
  );
}

/** Whether an actor that the machine has invoked or spawned is running. */
export function hasActiveChild({ children }: AnyMachineSnapshot): boolean {
  return Object.values(children as { readonly [id: string]: AnyActorRef }).some(
    (child) => (child.getSnapshot() as Snapshot<unknown>).status === "active",
  );
}

/** Whether a machine has a transition for an event in this state. A guard that throws counts as false. */
export function takes(snapshot: AnyMachineSnapshot, event: MachineEvent): boolean {
  try {
    return snapshot.status === "active" && snapshot.can(event);
  } catch {
    return false;
  }
}
