import { Graph, layout } from "@dagrejs/dagre";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { agentStyle } from "../parts/agent-hue.ts";
import { AgentMark } from "../parts/agent-name.tsx";
import { useMedia } from "../parts/hooks/media.ts";
import type { ActorFacts } from "../data/actors.ts";
import type { AgentLink, AgentLinks } from "./agent-links.ts";

interface AgentGraphProps {
  /** Absent until they are read: this part of the page is loaded meanwhile. */
  readonly links: AgentLinks | undefined;
  readonly actors: readonly ActorFacts[];
}

/** The agents that work with others, drawn with who calls whom; those that work alone stand below. */
export function AgentGraph({ links, actors }: AgentGraphProps): VNode {
  return links === undefined ? <div aria-busy="true" /> : <Links {...links} actors={actors} />;
}

function Links({ agents, links, actors }: AgentLinks & Pick<AgentGraphProps, "actors">): VNode {
  const isNarrow = useMedia("(max-width: 759px)");
  const drawing = useMemo(() => place(links, isNarrow ? "TB" : "LR"), [links, isNarrow]);
  const working = new Map<string, number>();
  const calls = new Set<string>();
  for (const { agent, status, calls: open } of actors) {
    if (status === "running") working.set(agent, (working.get(agent) ?? 0) + 1);
    for (const { name } of open) calls.add(`${agent} ${name}`);
  }
  const alone = agents.filter((name) => !drawing.nodes.some((node) => node.name === name));
  const count = working.size;
  return (
    <div class="agent-graph">
      {drawing.nodes.length > 0 && (
        <div class="chart-scroll" tabIndex={0} role="group" aria-label="Drawing of the agents">
          <svg
            width={drawing.width}
            height={drawing.height}
            viewBox={`0 0 ${drawing.width} ${drawing.height}`}
            role="group"
            aria-label={`Agents that call each other; ${count} work now`}
          >
            {drawing.edges.map(({ from, to, path }) => (
              <path
                key={`${from} ${to}`}
                class={calls.has(`${from} ${to}`) ? "graph-edge live" : "graph-edge"}
                d={path}
                marker-end="url(#graph-arrow)"
              >
                <title>{`${from} calls ${to}`}</title>
              </path>
            ))}
            <defs>
              <marker
                id="graph-arrow"
                viewBox="0 0 8 8"
                refX="7"
                refY="4"
                markerWidth="7"
                markerHeight="7"
                orient="auto"
              >
                <path d="M0 0 L8 4 L0 8 z" />
              </marker>
            </defs>
            {drawing.nodes.map(({ name, x, y, width }) => (
              <a key={name} href={`#/agents/${encodeURIComponent(name)}`} aria-label={name}>
                <g
                  class={working.has(name) ? "graph-node live" : "graph-node"}
                  style={agentStyle(name)}
                  transform={`translate(${x - width / 2} ${y - HEIGHT / 2})`}
                >
                  <title>{name}</title>
                  <rect width={width} height={HEIGHT} rx={17} />
                  <circle cx={17} cy={HEIGHT / 2} r={4} />
                  <text x={29} y={HEIGHT / 2 + 5}>
                    {short(name)}
                  </text>
                </g>
              </a>
            ))}
          </svg>
        </div>
      )}
      {alone.length > 0 && (
        <ul class="alone" aria-label="Agents that work alone">
          {alone.map((name) => (
            <li key={name}>
              <a
                class={working.has(name) ? "chip live" : "chip"}
                href={`#/agents/${encodeURIComponent(name)}`}
              >
                <AgentMark name={name} />
                <span class="one-line">{name}</span>
                {working.has(name) && <span class="state running number">{working.get(name)} running</span>}
              </a>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly {
    readonly name: string;
    readonly x: number;
    readonly y: number;
    readonly width: number;
  }[];
  readonly edges: readonly { readonly from: string; readonly to: string; readonly path: string }[];
}

function place(links: readonly AgentLink[], direction: "LR" | "TB"): Drawing {
  const graph = new Graph();
  const isAcross = direction === "LR";
  graph.setGraph({ rankdir: direction, nodesep: 16, ranksep: isAcross ? 64 : 40, marginx: 4, marginy: 4 });
  graph.setDefaultEdgeLabel(() => ({}));
  const names = [...new Set(links.flatMap(({ from, to }) => [from, to]))];
  const longest = Math.max(0, ...names.map((name) => short(name).length));
  const width = 44 + longest * 7.6;
  for (const name of names) graph.setNode(name, { width, height: HEIGHT });
  // A drawing has no place for an agent that calls itself.
  for (const { from, to } of links) if (from !== to) graph.setEdge(from, to);
  if (names.length > 0) layout(graph);
  const size = graph.graph() as Partial<Record<"width" | "height", number>>;
  const at = (name: string): Place => graph.node(name) as Place;
  return {
    width: size.width ?? 0,
    height: size.height ?? 0,
    nodes: names.map((name) => ({ name, x: at(name).x, y: at(name).y, width })),
    edges: graph.edges().map(({ v: from, w: to, ...edge }) => {
      const { points } = graph.edge({ v: from, w: to, ...edge }) as { readonly points: readonly Place[] };
      const between = points.slice(2, -2);
      return { from, to, path: toPath(at(from), between, at(to), direction, width / 2) };
    }),
  };
}

const HEIGHT = 34;

interface Place {
  readonly x: number;
  readonly y: number;
}

/** A curve from the end of one box to the beginning of the other, past the boxes in between. */
function toPath(
  from: Place,
  between: readonly Place[],
  to: Place,
  direction: "LR" | "TB",
  halfWidth: number,
): string {
  const isAcross = direction === "LR";
  const [dx, dy] = isAcross ? [halfWidth, 0] : [0, HEIGHT / 2];
  // An edge of a circle leads back.
  const back = (isAcross ? to.x < from.x : to.y < from.y) ? -1 : 1;
  const points = [
    { x: from.x + back * dx, y: from.y + back * dy },
    ...between,
    { x: to.x - back * dx, y: to.y - back * dy },
  ];
  const [first, ...rest] = points;
  let last = first ?? from;
  const curves = rest.map((point) => {
    const [ax, ay] = isAcross ? [(last.x + point.x) / 2, last.y] : [last.x, (last.y + point.y) / 2];
    const [bx, by] = isAcross ? [(last.x + point.x) / 2, point.y] : [point.x, (last.y + point.y) / 2];
    last = point;
    return `C${ax} ${ay} ${bx} ${by} ${point.x} ${point.y}`;
  });
  return `M${first?.x} ${first?.y} ${curves.join(" ")}`;
}

function short(name: string): string {
  return name.length > 24 ? `${name.slice(0, 23)}…` : name;
}
