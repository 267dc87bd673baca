// An agent that delegates to other agents; their events are in the same stream, one level deeper.
import assert from "node:assert/strict";
import { createRuntime } from "troupe";
import { serve } from "troupe/node";
import type { Event } from "troupe/protocol";
import { team } from "../agents/team.ts";

const runtime = createRuntime({ agents: [team] });
const server = await serve(runtime, { port: 0 });
try {
  const end = await post({ type: "ChatRequest", input: "the moon" });
  assert(end.type === "RequestCompleted");
  assert.match(end.result ?? "", /the moon/);

  const history = await fetch(`${server.url}/getevents/${end.request_id}?since=0`);
  const events = (await history.json()) as readonly Event[];
  for (const event of events) console.log(`${"  ".repeat(event.depth)}${event.agent}: ${event.type}`);
  assert.deepEqual(
    events.filter((event) => event.type === "TextOutput").map((event) => [event.depth, event.agent]),
    [
      [2, "summarizer"],
      [1, "researcher"],
      [0, "team"],
    ],
  );

  // A question of a child goes to the client of the team, and the answer goes to the child.
  const question = await post({ type: "ChatRequest", input: "buy a lamp for 5" });
  assert(question.type === "WaitForInput");
  assert.equal(question.agent, "payments");
  assert.deepEqual(question.request_keys, { approved: "Pay 5 to the shop?" });
  const bought = await post({
    type: "ResumeWithInput",
    request_id: question.request_id,
    request_keys: { approved: true },
  });
  assert(bought.type === "RequestCompleted");
  console.log(bought.result);
  assert.equal(bought.result, "Bought a lamp, receipt the shop:5.");
} finally {
  await server.close();
  await runtime.close();
}

async function post(request: object): Promise<Event> {
  const response = await fetch(`${server.url}/team/process?wait=completed`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  assert.equal(response.status, 200);
  return (await response.json()) as Event;
}
