import { createRuntime } from "troupe";
import { describe, expect, test } from "vitest";
import { order } from "../../../agents/order.ts";
import { layoutChart } from "../../../src/console/chart/layout.ts";
import type { ChartLayout, StateBox } from "../../../src/console/chart/layout.ts";
import { activePaths, allStates, possibleEvents } from "../../../src/console/chart/states.ts";
import type { Statechart } from "../../../src/protocol/answers/statechart.ts";
import { bakery } from "../harness/machine.ts";

const runtime = createRuntime({ agents: [order, bakery] });

function chartOf(agent: string): Statechart {
  const { statechart } = runtime.describe(agent);
  if (statechart === undefined) throw new Error(`${agent} has no chart`);
  return statechart;
}

test("the active states of a state value are those that it names and those around them", () => {
  expect([...activePaths("open")]).toEqual(["open"]);
  expect([...activePaths({ work: { oven: "baking", table: "laid" } })]).toEqual([
    "work",
    "work.oven",
    "work.oven.baking",
    "work.table",
    "work.table.laid",
  ]);
});

test("a machine takes the events of its active states and of those around them", () => {
  const events = possibleEvents(chartOf("bakery"), activePaths({ checkout: "consent" }));
  expect(events.map(({ event }) => event)).toEqual(["resume", "resume", "skip"]);
});

describe.for(["order", "bakery"])("the drawing of %s", (agent) => {
  const chart = chartOf(agent);

  test.for(["across", "down"] as const)(
    "has every state once, inside of the one around it, %s",
    (direction) => {
      const drawing = layoutChart(chart, direction);
      const ids = drawing.boxes.map(({ node }) => node.id);
      expect(ids.toSorted()).toEqual(
        allStates(chart)
          .map(({ id }) => id)
          .filter((id) => id !== "")
          .toSorted(),
      );
      for (const box of drawing.boxes) {
        expect(contains({ x: 0, y: 0, width: drawing.width, height: drawing.height }, box)).toBe(true);
        const around = drawing.boxes.filter(({ node }) => node.states.some(({ id }) => id === box.node.id));
        expect(around.every((outer) => contains(outer, box))).toBe(true);
        for (const other of siblings(drawing, box)) expect(overlap(box, other)).toBe(false);
      }
    },
  );

  test("has a line for every transition to a state", () => {
    const drawn = layoutChart(chart, "down").lines.flatMap(({ keys }) => keys);
    const wanted = allStates(chart).flatMap(({ edges }) => edges.filter(({ to }) => to !== undefined));
    expect(drawn.length).toBe(wanted.length);
  });

  test("has no inner states of a state that is folded", () => {
    const drawing = layoutChart(chart, "down", () => false);
    expect(drawing.boxes.map(({ node }) => node.id)).toEqual(chart.root.states.map(({ id }) => id));
  });
});

type Box = Pick<StateBox, "x" | "y" | "width" | "height">;

function contains(outer: Box, inner: Box): boolean {
  return (
    inner.x >= outer.x &&
    inner.y >= outer.y &&
    inner.x + inner.width <= outer.x + outer.width &&
    inner.y + inner.height <= outer.y + outer.height
  );
}

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

function siblings({ boxes }: ChartLayout, { node }: StateBox): readonly StateBox[] {
  const parent = (id: string): string => id.split(".").slice(0, -1).join(".");
  return boxes.filter((other) => other.node !== node && parent(other.node.id) === parent(node.id));
}
