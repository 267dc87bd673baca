import { expect, test } from "vitest";
import { createRuntime, defineAgent } from "troupe";
import { collect } from "troupe/testing";
import { project } from "../../../src/view/fold.ts";
import type { RunView } from "../../../src/view/run-view.ts";
import { compareSteps, firstDifference } from "../../../src/console/compare/compare.ts";

const upper = defineAgent({
  name: "upper",
  purpose: "Writes in capitals.",
  chat: (input) => input.slice(0, 3).toUpperCase(),
});
const writer = defineAgent({
  name: "writer",
  purpose: "Calls upper twice.",
  tools: [upper],
  async chat(input, turn) {
    await turn.text((await turn.call(upper, "chat", { input: "always" })).output);
    await turn.text((await turn.call(upper, "chat", { input })).output);
  },
});
const runtime = createRuntime({ agents: [writer, upper] });

async function run(input: string): Promise<RunView> {
  return project(await collect(runtime, "writer", { type: "ChatRequest", input }));
}

test("two runs with the same input have no difference", async () => {
  const steps = compareSteps(await run("hello"), await run("hello"));
  expect(steps.map(({ path }) => path)).toEqual(["turn 1", "c1.1", "c1.3"]);
  expect(firstDifference(steps)).toBeUndefined();
});

test("the first difference is the turn whose input was changed", async () => {
  const steps = compareSteps(await run("hello"), await run("goodbye"));
  expect(firstDifference(steps)?.path).toBe("turn 1");
  expect(steps.find(({ path }) => path === "c1.1")?.isDifferent).toBe(false);
  expect(steps.find(({ path }) => path === "c1.3")?.isDifferent).toBe(true);
});

test("with the same input, the first difference is the call that came out differently", async () => {
  const a = await run("hello");
  const call = a.calls.get(a.turns[0]?.root ?? "")?.children[1] ?? "";
  const changed = new Map(a.calls);
  const before = a.calls.get(call);
  if (before === undefined) throw new Error("the run has no second call");
  changed.set(call, { ...before, result: { output: "other" } });
  const root = a.calls.get(a.turns[0]?.root ?? "");
  if (root === undefined) throw new Error("the run has no turn");
  changed.set(root.key, { ...root, text: "other" });
  expect(firstDifference(compareSteps(a, { ...a, calls: changed }))?.path).toBe("c1.3");
});
