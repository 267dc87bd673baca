import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { MachineView } from "../../view/run-view.ts";
import type { Statechart, StatechartNode } from "../../protocol/answers/statechart.ts";
import { bestDirection } from "./layout.ts";
import type { EdgeLine, Point, StateBox } from "./layout.ts";
import { activePaths, allStates, edgeKey, nameOf, takenEdges } from "./states.ts";

interface ChartProps {
  readonly agent: string;
  readonly chart: Statechart;
  /** What the machine has done; absent if it is not of a run. */
  readonly machine?: MachineView | undefined;
}

/** The drawing of a statechart: its active states lit, the transitions that were taken dark, the last one marked. */
export function Chart({ agent, chart, machine }: ChartProps): VNode {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  const active = useMemo(() => activePaths(machine?.value), [machine?.value]);
  const isLarge = useMemo(() => allStates(chart).length > LARGE, [chart]);
  // Of a large chart only the active states are unfolded; it is laid out again when others become active.
  const unfolded = isLarge ? JSON.stringify([...active]) : undefined;
  const drawing = useMemo(() => {
    if (unfolded === undefined) return bestDirection(chart, width);
    const open = new Set(JSON.parse(unfolded) as readonly string[]);
    return bestDirection(chart, width, ({ id }: StatechartNode) => open.has(id));
  }, [chart, width, unfolded]);
  const taken = takenEdges(machine?.steps ?? []);
  const last = machine?.steps.at(-1);
  const lastKey = last && edgeKey(last.from, last.event, last.to);

  useLayoutEffect(() => {
    if (box.current !== null) setWidth(box.current.clientWidth);
  }, []);
  useEffect(() => {
    const states = box.current?.querySelectorAll("[data-active]") ?? [];
    [...states].at(-1)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [machine?.value, drawing]);

  const deepest = [...active].filter((path) => ![...active].some((other) => other.startsWith(`${path}.`)));
  const label =
    machine === undefined ? `The chart of ${agent}` : `The chart of ${agent}, in ${deepest.join(", ")}`;
  return (
    <div class="chart-scroll" ref={box} tabIndex={0} role="group" aria-label={label}>
      <svg
        class="chart"
        data-chart={agent}
        width={drawing.width}
        height={drawing.height}
        viewBox={`0 0 ${drawing.width} ${drawing.height}`}
        role="img"
        aria-label={label}
      >
        {drawing.boxes.map((state) => (
          <StateShape key={state.node.id} state={state} isActive={active.has(state.node.id)} />
        ))}
        {drawing.dots.map((dot) => (
          <circle key={`${dot.x} ${dot.y}`} class="chart-dot" cx={dot.x} cy={dot.y} r={5} />
        ))}
        {drawing.lines.map((line, at) => (
          <Line key={at} line={line} mark={markOf(line, taken, lastKey)} />
        ))}
        {drawing.lines.map((line, at) => (
          <Label key={at} line={line} mark={markOf(line, taken, lastKey)} />
        ))}
      </svg>
    </div>
  );
}

/** A chart with more states is drawn folded. */
const LARGE = 40;

type EdgeMark = "last" | "taken" | "";

function markOf({ keys }: EdgeLine, taken: ReadonlySet<string>, last: string | undefined): EdgeMark {
  if (last !== undefined && keys.includes(last)) return "last";
  return keys.some((key) => taken.has(key)) ? "taken" : "";
}

function StateShape({ state, isActive }: { readonly state: StateBox; readonly isActive: boolean }): VNode {
  const { node, x, y, width, height, isFolded } = state;
  const isCompound = node.states.length > 0 && !isFolded;
  const isFinal = node.type === "final";
  const kind = `${isCompound ? " around" : ""}${node.type === "parallel" ? " parallel" : ""}`;
  return (
    <g class={`chart-state${kind}`} data-state={node.id} data-active={isActive ? "true" : undefined}>
      <title>{[node.id, node.description].filter((part) => part !== undefined).join(": ")}</title>
      <rect x={x} y={y} width={width} height={height} rx={Math.min(17, height / 2)} />
      {isFinal && (
        <rect
          class="inner"
          x={x + 3}
          y={y + 3}
          width={width - 6}
          height={height - 6}
          rx={Math.min(14, height / 2 - 3)}
        />
      )}
      <text x={x + width / 2} y={y + (isCompound ? 20 : height / 2 + 4)}>
        {nameOf(node.id)}
        {isFolded && ` (${node.states.length})`}
      </text>
    </g>
  );
}

function Line({ line, mark }: { readonly line: EdgeLine; readonly mark: EdgeMark }): VNode {
  const { points } = line;
  return (
    <g class={`chart-edge ${mark}`}>
      <path d={toPath(points)} />
      <path class="head" d={toHead(points)} />
    </g>
  );
}

function Label({ line, mark }: { readonly line: EdgeLine; readonly mark: EdgeMark }): VNode | null {
  const { label, labelAt } = line;
  if (label === "") return null;
  return (
    <text class={`chart-label ${mark}`} x={labelAt.x} y={labelAt.y + 4}>
      {label}
    </text>
  );
}

/** A curve through the points. */
function toPath(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let path = `M${first.x} ${first.y}`;
  for (const [at, point] of rest.entries()) {
    const next = rest[at + 1];
    const end = next === undefined ? point : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    path += ` Q${point.x} ${point.y} ${end.x} ${end.y}`;
  }
  return path;
}

/** The head of the arrow at the end of a line. */
function toHead(points: readonly Point[]): string {
  const end = points.at(-1);
  const before = points.at(-2);
  if (end === undefined || before === undefined) return "";
  const length = Math.hypot(end.x - before.x, end.y - before.y) || 1;
  const [x, y] = [(end.x - before.x) / length, (end.y - before.y) / length];
  const at = (back: number, side: number): string =>
    `${end.x - x * back - y * side} ${end.y - y * back + x * side}`;
  return `M${end.x} ${end.y} L${at(8, 4)} L${at(8, -4)} Z`;
}
