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
  const client = createClient(`${server.url}/planner`);
  const { requestId, runId } = await client.process({ type: "ChatRequest", input: "to Rome, please" });
  assert(runId !== null);
  await searching.promise;

  const message = { type: "Message", name: "steer", body: "only by day", run_id: runId } as const;
  const { event } = await client.process(message, { wait: "acknowledged" });
  assert(event?.type === "MessageReceived");
  assert.equal(event.request_id, requestId);
  steered.resolve();

  for await (const next of client.stream(requestId, { after: 0 })) {
    if (next.type === "MessageReceived") console.log("steered:", next.body);
    if (next.type !== "RequestCompleted") continue;
    assert.equal(next.result, "I found a flight to Rome, and I keep in mind: only by day.");
    console.log(next.result);
  }
} finally {
  await server.close();
}
