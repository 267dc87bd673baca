import { createRuntime } from "troupe";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { project } from "../../../src/view/fold.ts";
import { toSequenceDiagram } from "../../../src/console/sequence/messages.ts";
import { outer } from "../harness/agents.ts";

test("the sequence has a lifeline for each actor, and each message between two of them in its order", async () => {
  const runtime = createRuntime({ agents: [outer] });
  const view = project(await collect(runtime, "outer", { type: "ChatRequest", input: "hello" }));
  const { names, messages } = toSequenceDiagram(view);
  expect(names).toEqual(["You", "outer", "middle", "inner"]);
  const arrows = messages.map(({ from, to, kind }) => `${names[from] ?? ""} ${kind} ${names[to] ?? ""}`);
  expect(arrows).toEqual([
    "You call outer",
    "outer call middle",
    "middle call inner",
    "inner result middle",
    "middle result outer",
    "outer result You",
  ]);
  expect(messages.map(({ call }) => call)).toEqual(["", "c1.1", "c1.1.1", "c1.1.1", "c1.1", ""]);
});
