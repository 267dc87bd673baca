import { defineTool } from "troupe";
import type { Agent, Model } from "troupe";
import { llmAgent, modelFromEnv, scriptedModel } from "troupe/llm";
import { z } from "zod";

const degrees = new Map([
  ["Oslo", 4],
  ["Rome", 18],
  ["Lima", 21],
]);

// A tool is a function with a name, a description and a schema. "idempotent" says that it may run again after a crash.
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

// Plays the model while none is configured; README.md says how to configure one. It asks the tool, then reports the result.
const script = scriptedModel(({ messages }) => {
  const last = messages.at(-1);
  const asked = messages.findLast(({ role }) => role === "user")?.content ?? "";
  const city = [...degrees.keys()].find((name) => asked.includes(name));
  if (city === undefined) return { text: `Ask me about ${[...degrees.keys()].join(", ")}.` };
  if (last?.role !== "tool") return { toolCalls: [{ name: "temperature", input: { city } }] };
  const { celsius } = JSON.parse(last.content) as { readonly celsius: number };
  return { text: `It is ${celsius} degrees in ${city}. (No model is configured; this answer is scripted.)` };
});

/** An agent made of a model, instructions and tools. The model is a parameter, so that a test can give it a script. */
export function createWeather(model: Model): Agent {
  return llmAgent({
    name: "weather",
    purpose: "Tells the temperature of a city.",
    instructions: "Look up the temperature of each city, and answer in one sentence.",
    model,
    tools: [temperature],
  });
}

export const weather = createWeather(modelFromEnv(process.env, script));
