// A language model that calls a tool. It uses a script unless the environment names a model: with
// OPENAI_API_KEY, or with TROUPE_MODEL_URL for any server with OpenAI's API, the same agent uses a real
// model.
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
  description: "Gives the temperature of a city in degrees Celsius.",
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
  purpose: "Tells the temperature of cities.",
  instructions: "Look up the temperature of each city, and answer in one sentence.",
  model: modelFromEnv(process.env, script),
  tools: [temperature],
});

const runtime = createRuntime({ agents: [weather] });
const { requestId } = await runtime.process("weather", {
  type: "ChatRequest",
  input: "How warm is it in Oslo and in Rome?",
});

// Each completion and each call is an event, and the model's text is streamed.
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
