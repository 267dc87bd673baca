// An agent that asks before it acts, and continues when it gets an answer.
import assert from "node:assert/strict";
import { createRuntime } from "troupe";
import { serve } from "troupe/node";
import type { Event } from "troupe/protocol";
import { payments } from "../agents/payments.ts";

const runtime = createRuntime({ agents: [payments] });
const server = await serve(runtime, { port: 0 });
try {
  // With `wait=completed` the answer is the event that ends the turn or waits for input.
  const question = await post({
    type: "OperationRequest",
    operation: "pay",
    input: { to: "bob", amount: 30 },
  });
  assert(question.type === "WaitForInput");
  assert.deepEqual(question.request_keys, { approved: "Pay 30 to bob?" });

  // The turn can wait for days; it is stored in the log, not in the memory of the process.
  const status = await fetch(`${server.url}/request/${question.request_id}`);
  assert.equal(((await status.json()) as { status: string }).status, "waiting");

  const end = await post({
    type: "ResumeWithInput",
    request_id: question.request_id,
    request_keys: { approved: true },
  });
  assert(end.type === "RequestCompleted");
  assert.equal(end.finish_reason, "success");
  assert.deepEqual(end.output, { receipt: "bob:30" });
} finally {
  await server.close();
  await runtime.close();
}

async function post(request: object): Promise<Event> {
  const response = await fetch(`${server.url}/payments/process?wait=completed`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  assert.equal(response.status, 200);
  const event = (await response.json()) as Event;
  console.log(event);
  return event;
}
