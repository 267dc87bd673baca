// A person steers an agent while it works: a message reaches the running turn, and the model reads it before its next
// completion. A message that comes during the last completion makes the model answer again.
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "troupe";
import { createClient } from "troupe/client";
import { llmAgent, scriptedModel } from "troupe/llm";
import { serve } from "troupe/node";
import { z } from "zod";

const searching = Promise.withResolvers<void>();
const steered = Promise.withResolvers<void>();

const search = defineTool({
  name: "search",
  description: "Searches for a flight; this takes a while.",
  input: z.object({ to: z.string() }),
  async run({ to }) {
    searching.resolve();
    await steered.promise;
    return `a flight to ${to}`;
  },
});

const planner = llmAgent({
  name: "planner",
  purpose: "Plans trips.",
  instructions: "Find a flight with your tool.",
  // The script plays the model: it searches, and then reports with the newest message in mind.
  model: scriptedModel(({ messages }) => {
    const found = messages.find(({ role }) => role === "tool");
    if (found === undefined) return { toolCalls: [{ name: "search", input: { to: "Rome" } }] };
    return `I found ${found.content}, and I keep in mind: ${messages.at(-1)?.content}.`;
  }),
  tools: [search],
});

const runtime = createRuntime({ agents: [planner] });
const server = await serve(runtime, { port: 0 });
try {
  const agent = createClient(server.url).agent<typeof planner>("planner");
  const call = agent.chat("to Rome, please");
  await searching.promise;
  await agent.tell("steer", "only by day", { runId: await call.runId });
  steered.resolve();

  for await (const event of call) if (event.type === "MessageReceived") console.log("steered:", event.body);
  const plan = await call;
  assert.equal(plan, "I found a flight to Rome, and I keep in mind: only by day.");
  console.log(plan);
} finally {
  await server.close();
}
