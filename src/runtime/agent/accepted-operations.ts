import { AgentError, isInstance } from "../../errors.ts";
import type { Statechart, StatechartNode } from "../../protocol/answers/statechart.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";

/** The operations among `names` for which an active state of a chart has a transition; its guards are not asked. */
export function acceptedBy({ root }: Statechart, value: Json, names: readonly string[]): readonly string[] {
  const events = new Set<string | undefined>();
  for (const { edges } of activeStates(root, value)) for (const { event } of edges) events.add(event);
  return names.filter((name) => events.has(name) || events.has(ANY));
}

/** The error of an operation that a machine does not take in its state. */
export function notAccepted(
  { name, statechart, operations }: MachineFacts,
  operation: string,
  value: Json,
): AgentError {
  const accepts = acceptedBy(statechart, value, operations);
  const state = JSON.stringify(value);
  return new AgentError("not_accepted", `agent ${name} does not take ${operation} in its state ${state}`, {
    hint: accepts.length === 0 ? "it takes no operation now" : `it takes ${accepts.join(", ")}`,
    facts: { accepts },
  });
}

/** What a refusal of a machine's agent says. */
export interface MachineFacts {
  readonly name: string;
  readonly statechart: Statechart;
  /** The names of its operations. */
  readonly operations: readonly string[];
}

/** Whether a thrown value is the refusal of an operation by the machine of this turn, and not of a call. */
export function isNotAccepted(thrown: unknown): boolean {
  return isInstance(thrown, AgentError) && thrown.code === "not_accepted" && thrown.callId === undefined;
}

/** The descriptor of a transition for any event. */
const ANY = "*";

/** The states of a state value, from the root down. */
function* activeStates(state: StatechartNode, value: Json | undefined): Generator<StatechartNode> {
  yield state;
  const inside: readonly (readonly [string, Json | undefined])[] =
    typeof value === "string" ? [[value, undefined]] : isObject(value) ? Object.entries(value) : [];
  for (const [name, below] of inside) {
    const id = state.id === "" ? name : `${state.id}.${name}`;
    const child = state.states.find((one) => one.id === id);
    if (child) yield* activeStates(child, below);
  }
}
