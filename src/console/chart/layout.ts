import { Graph, layout } from "@dagrejs/dagre";
import type { Statechart, StatechartEdge, StatechartNode } from "../../protocol/answers/statechart.ts";
import { edgeKey, nameOf } from "./states.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A state with its place in the drawing. */
export interface StateBox {
  readonly node: StatechartNode;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Whether its inner states are not drawn. */
  readonly isFolded: boolean;
}

/** A transition with its place in the drawing. */
export interface EdgeLine {
  /** The transitions that the line stands for: `edgeKey`s. */
  readonly keys: readonly string[];
  readonly from: string;
  readonly points: readonly Point[];
  readonly label: string;
  readonly labelAt: Point;
}

/** A drawing of a chart. Sizes are in pixels, so that its texts are never smaller than they should be. */
export interface ChartLayout {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly StateBox[];
  readonly lines: readonly EdgeLine[];
  /** Where the chart and its compound states begin. */
  readonly dots: readonly Point[];
}

/**
 * Places the states of a chart level by level: the states inside a state are laid out first, then the state is a box
 * among its siblings. A transition is drawn on the level where both ends, or the states around them, are siblings.
 * The inner states of a state are drawn if `isOpen` says so.
 */
export function layoutChart(
  { root }: Statechart,
  direction: "across" | "down",
  isOpen: (node: StatechartNode) => boolean = () => true,
): ChartLayout {
  const edges = collectEdges(root);
  const level = layoutLevel(root, edges, direction, isOpen);
  return { ...move(level, PAD, PAD), width: level.width + 2 * PAD, height: level.height + 2 * PAD };
}

/** The larger of a chart's measures has to fit; otherwise the drawing scrolls. */
export function bestDirection(
  chart: Statechart,
  width: number,
  isOpen?: (node: StatechartNode) => boolean,
): ChartLayout {
  const across = layoutChart(chart, "across", isOpen);
  if (across.width <= width) return across;
  const down = layoutChart(chart, "down", isOpen);
  return down.width <= Math.max(width, across.width) ? down : across;
}

const PAD = 16;
const HEAD_PX = 32;
const LINE_PX = 16;
const CHARACTER_PX = 7.4;
const RADIUS = 6;

interface Level extends ChartLayout {}

interface Edge extends StatechartEdge {
  readonly from: string;
  readonly to: string;
}

function collectEdges(node: StatechartNode): Edge[] {
  const own = node.edges.flatMap((edge) =>
    edge.to === undefined ? [] : [{ ...edge, from: node.id, to: edge.to }],
  );
  return [...own, ...node.states.flatMap(collectEdges)];
}

/** The inner states of a state, from the point 0, 0. */
function layoutLevel(
  parent: StatechartNode,
  edges: readonly Edge[],
  direction: "across" | "down",
  isOpen: (node: StatechartNode) => boolean,
): Level {
  const inner = new Map<string, Level>();
  const graph = new Graph({ multigraph: true });
  graph.setGraph({
    rankdir: direction === "across" ? "LR" : "TB",
    nodesep: 24,
    ranksep: direction === "across" ? 32 : 36,
    edgesep: 16,
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of parent.states) {
    const isCompound = node.states.length > 0 && isOpen(node);
    const content = isCompound ? layoutLevel(node, edges, direction, isOpen) : undefined;
    if (content) inner.set(node.id, content);
    graph.setNode(node.id, sizeOf(node, content));
  }
  if (parent.initial !== undefined && parent.type !== "parallel") {
    graph.setNode(START, { width: 2 * RADIUS, height: 2 * RADIUS });
    graph.setEdge(START, parent.initial, {}, "start");
  }
  const lifted = liftEdges(parent, edges);
  for (const [at, { from, to, label }] of lifted.entries()) {
    if (from === PARENT || to === PARENT) graph.setNode(PARENT, { width: 2 * RADIUS, height: 2 * RADIUS });
    const size = label === "" ? {} : { width: widthOf(label), height: LINE_PX, labelpos: "c" };
    // dagre takes an empty name for none.
    graph.setEdge(from, to, size, String(at));
  }
  layout(graph);

  const boxes: StateBox[] = [];
  const lines: EdgeLine[] = [];
  const dots: Point[] = [];
  for (const node of parent.states) {
    const { x, y, width, height } = toBox(graph.node(node.id) as Placed);
    const content = inner.get(node.id);
    boxes.push({ node, x, y, width, height, isFolded: node.states.length > 0 && content === undefined });
    if (content === undefined) continue;
    const moved = move(content, x + (width - content.width) / 2, y + HEAD_PX);
    boxes.push(...moved.boxes);
    lines.push(...moved.lines);
    dots.push(...moved.dots);
  }
  for (const name of [START, PARENT]) {
    const dot = graph.node(name) as Placed | undefined;
    if (dot) dots.push({ x: dot.x, y: dot.y });
  }
  for (const reference of graph.edges()) {
    const placed = graph.edge(reference) as Placed & { readonly points: readonly Point[] };
    const edge = reference.name === "start" ? undefined : lifted[Number(reference.name)];
    const { points } = placed;
    const middle = points[Math.floor(points.length / 2)] ?? { x: 0, y: 0 };
    lines.push({
      keys: edge?.keys ?? [],
      from: edge?.source ?? "",
      points,
      label: edge?.label ?? "",
      labelAt: edge === undefined || edge.label === "" ? middle : { x: placed.x, y: placed.y },
    });
  }
  const { width = 0, height = 0 } = graph.graph() as { readonly width?: number; readonly height?: number };
  return { width, height, boxes, lines, dots };
}

/** Stands for the place where a level begins, and for the state around it. */
const START = "\u0000start";
const PARENT = "\u0000parent";

interface Lifted {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly keys: readonly string[];
  /** The state that the transition belongs to. */
  readonly source: string;
}

/** The transitions that are drawn inside a state, between its inner states. Equal ones become one line. */
function liftEdges(parent: StatechartNode, edges: readonly Edge[]): readonly Lifted[] {
  const lines = new Map<
    string,
    { from: string; to: string; label: string; keys: string[]; source: string }
  >();
  for (const edge of edges) {
    const from = childOf(parent, edge.from);
    const to = childOf(parent, edge.to);
    // Between two states inside the same inner state the line is drawn there, except from a state to itself.
    const isSelf = from === to && edge.from === edge.to && from === edge.from;
    if (from === undefined || to === undefined || (from === to && !isSelf)) continue;
    if (from === PARENT && to === PARENT) continue;
    const label = labelOf(edge);
    const key = `${from} ${to} ${label}`;
    const line = lines.get(key) ?? { from, to, label, keys: [], source: edge.from };
    line.keys.push(edgeKey(edge.from, edge.event, edge.to));
    lines.set(key, line);
  }
  return [...lines.values()];
}

/** The inner state that a state is, or is inside of; `PARENT` for the state itself; `undefined` for any other. */
function childOf(parent: StatechartNode, path: string): string | undefined {
  if (path === parent.id) return PARENT;
  return parent.states.find(({ id }) => path === id || path.startsWith(`${id}.`))?.id;
}

function labelOf({ event, guard }: StatechartEdge): string {
  const condition = guard === undefined ? "" : `[${guard}]`;
  return [event ?? "", condition].filter((part) => part !== "").join(" ");
}

function sizeOf(node: StatechartNode, content: Level | undefined): { width: number; height: number } {
  const width = Math.max(72, widthOf(nameOf(node.id)) + 40);
  if (content === undefined) return { width, height: HEAD_PX };
  return { width: Math.max(width, content.width + 2 * PAD), height: content.height + HEAD_PX + PAD };
}

function widthOf(text: string): number {
  return text.length * CHARACTER_PX + 8;
}

interface Placed {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** dagre places the middle of a node. */
function toBox({ x, y, width, height }: Placed): Placed {
  return { x: x - width / 2, y: y - height / 2, width, height };
}

function move(level: Level, dx: number, dy: number): Level {
  const by = ({ x, y }: Point): Point => ({ x: x + dx, y: y + dy });
  return {
    ...level,
    boxes: level.boxes.map((box) => ({ ...box, ...by(box) })),
    lines: level.lines.map((line) => ({ ...line, points: line.points.map(by), labelAt: by(line.labelAt) })),
    dots: level.dots.map(by),
  };
}
