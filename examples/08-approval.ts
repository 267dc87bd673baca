// Some calls of a model need the approval of a human. Such a call waits in the log as long as needed, and the
// human sees exactly which call it is.
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "troupe";
import { llmAgent, modelFromEnv, scriptedModel } from "troupe/llm";
import { serve } from "troupe/node";
import type { Event } from "troupe/protocol";
import { z } from "zod";

const removed: string[] = [];

const remove = defineTool({
  name: "remove",
  description: "Removes a file for good.",
  input: z.object({ file: z.string() }),
  run({ file }) {
    removed.push(file);
    return "removed";
  },
});

const script = scriptedModel(({ messages }) => {
  const last = messages.at(-1);
  if (last?.role !== "tool") return { toolCalls: [{ name: "remove", input: { file: last?.content ?? "" } }] };
  return last.isError ? "I did not remove it." : "I have removed it.";
});

const cleaner = llmAgent({
  name: "cleaner",
  purpose: "Removes files.",
  instructions: "Remove the named file with your tool, then report the result in a few words.",
  model: modelFromEnv(process.env, script),
  tools: [remove],
  approve: ["remove"],
});

const runtime = createRuntime({ agents: [cleaner] });
const server = await serve(runtime, { port: 0 });
try {
  for (const [file, approved] of [
    ["draft.txt", true],
    ["novel.txt", false],
  ] as const) {
    const question = await post({ type: "ChatRequest", input: file });
    assert(question.type === "WaitForInput");
    assert.deepEqual(question.request_keys, { approved: `Call remove with {"file":"${file}"}?` });
    assert(!removed.includes(file));

    const end = await post({
      type: "ResumeWithInput",
      request_id: question.request_id,
      request_keys: { approved },
    });
    assert(end.type === "RequestCompleted");
    assert.equal(end.finish_reason, "success");
    console.log(end.result);
  }
  // A declined call is not made; the model only reads that it was declined.
  assert.deepEqual(removed, ["draft.txt"]);
} finally {
  await server.close();
  await runtime.close();
}

async function post(request: object): Promise<Event> {
  const response = await fetch(`${server.url}/cleaner/process?wait=completed`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  assert.equal(response.status, 200);
  const event = (await response.json()) as Event;
  console.log(event.type, event.type === "WaitForInput" ? event.request_keys : "");
  return event;
}
