import type { Statechart, StatechartEdge, StatechartNode } from "../../protocol/answers/statechart.ts";
import type { MachineStep } from "../../view/run-view.ts";
import type { Json } from "../../protocol/json.ts";

/** The paths of the active states of a state value, as XState writes it: also those of the states around them. */
export function activePaths(value: Json | undefined): ReadonlySet<string> {
  const paths = new Set<string>();
  const add = (part: Json, prefix: string): void => {
    if (typeof part === "string") paths.add(prefix + part);
    else if (typeof part === "object" && part !== null) {
      for (const [name, inner] of Object.entries(part)) {
        paths.add(prefix + name);
        add(inner, `${prefix}${name}.`);
      }
    }
  };
  if (value !== undefined) add(value, "");
  return paths;
}

/** All states of a chart, the root last. */
export function allStates({ root }: Statechart): readonly StatechartNode[] {
  const states: StatechartNode[] = [];
  const add = (node: StatechartNode): void => {
    for (const inner of node.states) add(inner);
    states.push(node);
  };
  add(root);
  return states;
}

/** The name of a state without those around it. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

/** Names a transition, to find it among those that were taken. */
export function edgeKey(from: string, event: string | undefined, to: string | undefined): string {
  return JSON.stringify([from, event ?? "", to ?? ""]);
}

/** The keys of the transitions that a machine has taken. */
export function takenEdges(steps: readonly MachineStep[]): ReadonlySet<string> {
  return new Set(steps.map(({ from, event, to }) => edgeKey(from, event, to)));
}

/** The events that a machine takes in its active states, in the order of the chart. */
export function possibleEvents(chart: Statechart, active: ReadonlySet<string>): readonly StatechartEdge[] {
  return allStates(chart)
    .filter(({ id }) => id === "" || active.has(id))
    .flatMap(({ edges }) => edges);
}
