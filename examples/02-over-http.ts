// The same over HTTP: find an agent, send a request, and read its events as they arrive.
import assert from "node:assert/strict";
import { createRuntime } from "troupe";
import { serve } from "troupe/node";
import type { Event } from "troupe/protocol";
import { echo } from "../agents/echo.ts";

const runtime = createRuntime({ agents: [echo] });
const server = await serve(runtime, { port: 0 });
try {
  const agents = await fetch(server.url);
  assert.deepEqual(await agents.json(), [{ name: "echo", path: "/echo" }]);

  const stream = await fetch(`${server.url}/echo/stream_request`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ type: "ChatRequest", input: "to be or not" }),
  });
  assert.equal(stream.headers.get("content-type"), "text/event-stream");

  // A frame is a line with the id of an event, a line with the event as JSON, and an empty line.
  const events: Event[] = [];
  for await (const line of linesOf(stream)) {
    console.log(line);
    if (line.startsWith("data: ")) events.push(JSON.parse(line.slice("data: ".length)) as Event);
  }
  const words = events.map((event) => (event.type === "TextOutput" ? event.content : "")).join("");
  assert.equal(words, "to be or not");

  // The request can be read again later, from the start or after any event.
  const again = await fetch(`${server.url}/getevents/${events[0]?.request_id}?since=2`);
  assert.deepEqual(await again.json(), events.slice(2));
} finally {
  await server.close();
  await runtime.close();
}

async function* linesOf(response: Response): AsyncGenerator<string> {
  assert(response.body);
  let rest = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
