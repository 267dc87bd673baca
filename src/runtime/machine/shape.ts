import type { AnyStateMachine } from "xstate";
import type { HoldReason } from "../../protocol/events/outcome-codes.ts";
import { isObject } from "../../protocol/json.ts";
import { errorMessage } from "../agent/error-message.ts";
import { digest } from "../journal/digest.ts";
import type { MachineState } from "../journal/records.ts";

/** A digest of a chart and of the names in the context that it begins with: equal for machines with the same form of state. */
export function shapeOf(machine: AnyStateMachine, chart: string): string {
  return digest(JSON.stringify([chart, contextNames(machine)]));
}

/** Why a machine cannot continue from a logged state; `undefined` if it can. */
export function toSnapshotMisfit(
  machine: AnyStateMachine,
  { snapshot, waits, shape: before }: MachineState,
  shape: string,
): HoldReason | undefined {
  const { value, context, children } = snapshot as Partial<Record<string, unknown>>;
  const states = isObject(context) ? Object.keys(context) : [];
  try {
    machine.resolveState({ value: value as never, context });
    for (const stateId of Object.keys(waits)) machine.getStateNodeById(stateId);
  } catch (thrown) {
    return toReason(`a state in ${JSON.stringify(value)}`, errorMessage(thrown));
  }
  for (const [id, child] of Object.entries(isObject(children) ? children : {})) {
    const src = isObject(child) ? child["src"] : undefined;
    if (typeof src === "string" && !(src in machine.implementations.actors) && !src.includes(INLINE))
      return toReason(`the actor ${src}`, `no actor ${src} for ${id}`);
  }
  // Code can remove a field on purpose, so a field is only missed if the machine was changed.
  if (before === undefined || before === shape) return undefined;
  const missing = contextNames(machine).find((name) => !states.includes(name));
  return missing === undefined
    ? undefined
    : toReason(`a context with ${states.join(", ") || "nothing"}`, `the field ${missing}`);
}

/** A part of the names that XState gives to actors without one. */
const INLINE = "xstate.invoke";

function toReason(expected: string, found: string): HoldReason {
  return {
    code: "snapshot_mismatch",
    message: `the machine cannot continue from its logged state: the log has ${expected}; the chart has ${found}`,
    expected,
    found,
  };
}

/** The names in a context that is no function; one that is a function is not known before it runs. */
function contextNames(machine: AnyStateMachine): readonly string[] {
  const context: unknown = machine.config.context;
  if (!isObject(context)) return [];
  return Object.keys(context)
    .filter((name) => context[name] !== undefined)
    .toSorted();
}
