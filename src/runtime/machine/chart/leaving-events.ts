import type { AnyStateMachine, AnyStateNode } from "xstate";

/**
 * The events of the delays after which a machine certainly leaves a state: delays of the state and of those above it,
 * without a guard and with a target outside.
 */
export function leavingEvents(machine: AnyStateMachine, stateId: string): ReadonlySet<string> {
  const state = machine.getStateNodeById(stateId);
  const events = new Set<string>();
  for (let node: AnyStateNode | undefined = state; node !== undefined; node = node.parent) {
    for (const { eventType, guard, reenter, target = [] } of node.after) {
      const isLeft = reenter || target.some((to) => node !== state || !isWithin(to as AnyStateNode, state));
      if (guard === undefined && target.length > 0 && isLeft) events.add(eventType);
    }
  }
  return events;
}

function isWithin(node: AnyStateNode, above: AnyStateNode): boolean {
  for (let at: AnyStateNode | undefined = node; at !== undefined; at = at.parent)
    if (at === above) return true;
  return false;
}
