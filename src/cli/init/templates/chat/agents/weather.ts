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

// Plays the model while no model is configured (see README.md): it asks the tool, then reports what it said.
const script = scriptedModel(({ messages }) => {
  const last = messages.at(-1);
  if (last?.role === "tool")
    return { text: `${last.content} — and this is a script; see README.md for a real model.` };
  const city = [...degrees.keys()].find((name) => last?.content.includes(name));
  if (city === undefined) return { text: `Ask me about ${[...degrees.keys()].join(", ")}.` };
  return { toolCalls: [{ name: "temperature", input: { city } }] };
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
