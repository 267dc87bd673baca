import assert from "node:assert/strict";
import { test } from "node:test";
import { createRuntime } from "troupe";
import { collect } from "troupe/testing";
import { reviewer, team, writer } from "../agents/team.ts";

test("the team mends what the reviewer finds", async () => {
  const runtime = createRuntime({ agents: [team, writer, reviewer] });

  const events = await collect(runtime, "team", { type: "ChatRequest", input: "The moon" });
  await runtime.close();

  const calls = events.filter((event) => event.type === "ToolCall").map((event) => event.function_name);
  assert.equal(calls.length, 2);
  const end = events.at(-1);
  assert(end?.type === "RequestCompleted");
  assert.equal(end.result, "The moon is worth a look.");
});
