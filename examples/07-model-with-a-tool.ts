// A language model that calls a tool. It goes by a script unless the environment names a model: with
// OPENAI_API_KEY, or TROUPE_MODEL_URL for any server that answers as OpenAI's does, the same agent is live.
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "troupe";
import { llmAgent, modelFromEnv, scriptedModel } from "troupe/llm";
import type { Event } from "troupe/protocol";
import { z } from "zod";

const degrees = new Map([
  ["Oslo", 4],
  ["Rome", 18],
]);

const temperature = defineTool({
  name: "temperature",
  description: "Says how warm it is in a city, in degrees Celsius.",
  input: z.object({ city: z.string() }),
  effect: "idempotent",
  run({ city }) {
    const celsius = degrees.get(city);
    if (celsius === undefined) throw new Error(`nothing is known about ${city}`);
    return { celsius };
  },
});

const script = scriptedModel([
  { toolCalls: ["Oslo", "Rome"].map((city) => ({ name: "temperature", input: { city } })) },
  "It is 4 degrees in Oslo and 18 in Rome.",
]);

const weather = llmAgent({
  name: "weather",
  purpose: "Knows how warm it is.",
  instructions: "Look the temperature up, for each city, and answer in one sentence.",
  model: modelFromEnv(process.env, script),
  tools: [temperature],
});

const runtime = createRuntime({ agents: [weather] });
const { requestId } = await runtime.process("weather", {
  type: "ChatRequest",
  input: "How warm is it in Oslo and in Rome?",
});

// Each completion and each call is an event, and what the model says comes as it says it.
const events: Event[] = [];
const feed = await runtime.follow(await runtime.resolve(requestId), { after: 0 });
for await (const page of feed.pages) {
  for (const text of page.events) {
    const event = JSON.parse(text) as Event;
    console.log(event.type, event.type === "TextOutput" ? event.content : "");
    events.push(event);
  }
}
await runtime.close();

const calls = events.filter((event) => event.type === "ToolCall").map(({ args }) => args);
assert.deepEqual(calls, [{ city: "Oslo" }, { city: "Rome" }]);
const end = events.at(-1);
assert(end?.type === "RequestCompleted");
assert.match(end.result ?? "", /4 .*18/);
console.log(end.usage);
