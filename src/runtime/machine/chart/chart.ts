import type { AnyActorLogic, AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from "xstate";
import { AgentError } from "../../../errors.ts";
import type { Statechart, StatechartEdge, StatechartNode } from "../../../protocol/answers/statechart.ts";
import { byteLength } from "../../journal/json-limits.ts";
import { EventNames } from "./event-names.ts";

/** A machine's chart, and what its StateChanged events need of it. */
export interface MachineChart {
  readonly statechart: Statechart;
  readonly names: EventNames;
}

type ActorLogics = { readonly [src: string]: AnyActorLogic };

/** Maximum size of all names of states together: a state value contains each at most once. */
const NAMES_LIMIT_BYTES = 64 * 1024;

/** Maximum size of a path, so that 32 steps fit into an event. */
const PATH_LIMIT_BYTES = 512;

/** The charts of a machine and of those inside it. */
export type MachineCharts = ReadonlyMap<AnyStateMachine, MachineChart>;

/** Reads the charts of a machine, its own first. Throws `invalid_request` if their names do not fit into an event. */
export function toCharts(agent: string, machine: AnyStateMachine): MachineCharts {
  const charts = new Map<AnyStateMachine, MachineChart>();
  const visit = (one: AnyStateMachine): void => {
    if (charts.has(one)) return;
    charts.set(one, toChart(agent, one));
    for (const logic of Object.values(one.implementations.actors as ActorLogics))
      if (isMachine(logic)) visit(logic);
  };
  visit(machine);
  return charts;
}

/** The chart of an agent: that of its machine, with those of the machines inside it. */
export function toStatechart(charts: MachineCharts): Statechart {
  const [own, ...inside] = [...charts.values()].map(({ statechart }) => statechart);
  const machines = new Map(inside.map((statechart) => [statechart.hash, statechart]));
  return { ...(own as Statechart), ...(machines.size > 0 && { machines: [...machines.values()] }) };
}

/** Machines can come from another copy of XState, so their class does not identify them. */
export function isMachine(logic: AnyActorLogic): logic is AnyStateMachine {
  return "implementations" in logic && "provide" in logic && typeof logic.provide === "function";
}

function toChart(agent: string, machine: AnyStateMachine): MachineChart {
  const names = new EventNames(machine);
  checkNames(agent, machine);
  const root = toNode(machine.root, names);
  return { names, statechart: { hash: hashOf(JSON.stringify(root)), root } };
}

/** The path of a state below the root. */
export function pathOf({ path }: AnyStateNode): string {
  return path.join(".");
}

function checkNames(agent: string, { root }: AnyStateMachine): void {
  let bytes = 0;
  const visit = (node: AnyStateNode): void => {
    bytes += byteLength(JSON.stringify(node.key)) + 1;
    const pathBytes = byteLength(JSON.stringify(pathOf(node)));
    if (pathBytes > PATH_LIMIT_BYTES) {
      throw new AgentError(
        "invalid_request",
        `a state of agent ${agent} has a path of ${pathBytes} bytes; at most ${PATH_LIMIT_BYTES} are allowed`,
      );
    }
    for (const state of Object.values(node.states)) visit(state as AnyStateNode);
  };
  visit(root);
  if (bytes <= NAMES_LIMIT_BYTES) return;
  throw new AgentError(
    "invalid_request",
    `the states of agent ${agent} have names of ${bytes} bytes together; at most ${NAMES_LIMIT_BYTES} are allowed`,
  );
}

function toNode(node: AnyStateNode, names: EventNames): StatechartNode {
  const initial = node.type === "compound" ? node.initial.target?.[0] : undefined;
  const transitions = [...[...node.transitions.values()].flat(), ...(node.always ?? [])];
  return {
    id: pathOf(node),
    type: node.type,
    ...(initial && { initial: pathOf(initial as AnyStateNode) }),
    ...(node.tags.length > 0 && { tags: node.tags.map(String) }),
    ...(node.description !== undefined && { description: node.description }),
    states: Object.values(node.states).map((state) => toNode(state as AnyStateNode, names)),
    edges: transitions.flatMap((transition) => toEdges(transition, names)),
  };
}

/** A transition with several targets gives an edge for each. */
function toEdges(
  { eventType, target = [], guard, actions }: AnyTransitionDefinition,
  names: EventNames,
): readonly StatechartEdge[] {
  // An event that a state forbids has a transition without effect.
  if (target.length === 0 && actions.length === 0) return [];
  const edge: StatechartEdge = {
    ...(eventType !== "" && { event: names.of(eventType) }),
    ...(guard !== undefined && { guard: nameOf(guard) }),
    ...(actions.length > 0 && { actions: actions.map(nameOf) }),
  };
  return target.length === 0
    ? [edge]
    : target.map((state) => ({ ...edge, to: pathOf(state as AnyStateNode) }));
}

/** The name of an action or guard, which can be a text, an object with a type, or a function. */
function nameOf(part: unknown): string {
  if (typeof part === "string") return part;
  const { type, name } = part as { readonly type?: unknown; readonly name?: unknown };
  if (typeof type === "string") return type.replace(/^xstate\./u, "");
  return typeof name === "string" && name !== "" ? name : "(anonymous)";
}

/** FNV-1a with 64 bits: it tells charts apart and protects nothing. */
function hashOf(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}
