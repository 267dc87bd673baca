import assert from "node:assert/strict";
import { test } from "node:test";
import { createRuntime } from "troupe";
import { scriptedModel } from "troupe/llm";
import { collect } from "troupe/testing";
import { createWeather } from "../agents/weather.ts";

test("the agent looks up the temperature before it answers", async () => {
  const model = scriptedModel([
    { toolCalls: [{ name: "temperature", input: { city: "Oslo" } }] },
    "It is 4 degrees in Oslo.",
  ]);
  const runtime = createRuntime({ agents: [createWeather(model)] });

  const events = await collect(runtime, "weather", { type: "ChatRequest", input: "How warm is it in Oslo?" });
  await runtime.close();

  const results = events.filter((event) => event.type === "ToolResult").map(({ result }) => result);
  assert.deepEqual(results, [{ celsius: 4 }]);
  const end = events.at(-1);
  assert(end?.type === "RequestCompleted");
  assert.equal(end.result, "It is 4 degrees in Oslo.");
});
