// A turn that would run for hours is canceled while a client follows it.
import assert from "node:assert/strict";
import { EventSource } from "eventsource";
import { createRuntime } from "troupe";
import { serve } from "troupe/node";
import type { Event } from "troupe/protocol";
import { ticker } from "../agents/ticker.ts";

const runtime = createRuntime({ agents: [ticker] });
const server = await serve(runtime, { port: 0 });
try {
  const { request_id } = await post({ type: "ChatRequest", input: "100000 100" });

  // Closing this stream cancels nothing; only a CancelRequest does.
  const events: Event[] = [];
  const stream = new EventSource(`${server.url}/ticker/getevents/${request_id}?stream=true`);
  const end = await new Promise<Event>((resolve, reject) => {
    stream.addEventListener("error", ({ message }) => reject(new Error(message)));
    stream.addEventListener("message", ({ data }) => {
      const event = JSON.parse(String(data)) as Event;
      console.log(event.id, event.type, event.type === "TextOutput" ? event.content.trim() : "");
      events.push(event);
      if (event.type === "TextOutput" && event.content === "3\n") {
        post({ type: "CancelRequest", request_id }).catch(reject);
      }
      if (event.type === "RequestCompleted") resolve(event);
    });
  }).finally(() => stream.close());

  assert(end.type === "RequestCompleted");
  assert.equal(end.finish_reason, "canceled");
  assert(events.some((event) => event.type === "CancelRequest"));
} finally {
  await server.close();
  await runtime.close();
}

async function post(request: object): Promise<{ readonly request_id: string }> {
  const response = await fetch(`${server.url}/ticker/process`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  assert.equal(response.status, 202);
  return (await response.json()) as { readonly request_id: string };
}
