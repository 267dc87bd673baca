import type { Statechart, StatechartNode } from "../../protocol/answers/statechart.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";

/** The operations among `names` for which an active state of a chart has a transition; its guards are not asked. */
export function acceptedBy({ root }: Statechart, value: Json, names: readonly string[]): readonly string[] {
  const events = new Set<string | undefined>();
  for (const { edges } of activeStates(root, value)) for (const { event } of edges) events.add(event);
  return names.filter((name) => events.has(name) || events.has(ANY));
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
