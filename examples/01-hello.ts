// An agent in a few lines, called from code.
import assert from "node:assert/strict";
import { createRuntime, defineAgent } from "troupe";
import type { Event } from "troupe/protocol";

const hello = defineAgent({
  name: "hello",
  purpose: "Greets a person by name.",

  async chat(name, turn) {
    await turn.text("Hello, ");
    await turn.text(`${name}!`);
  },
});

const runtime = createRuntime({ agents: [hello] });
const { requestId } = await runtime.process("hello", { type: "ChatRequest", input: "Ada" });

// Everything an agent does is an event in a log. Following a request means reading the log as it grows.
const events: Event[] = [];
const feed = await runtime.follow(await runtime.resolve(requestId), { after: 0 });
for await (const page of feed.pages) {
  for (const text of page.events) {
    console.log(text);
    events.push(JSON.parse(text) as Event);
  }
}
await runtime.close();

assert.deepEqual(
  events.map((event) => event.type),
  ["RequestStarted", "TextOutput", "TextOutput", "RequestCompleted"],
);
const end = events.at(-1);
assert(end?.type === "RequestCompleted");
assert.equal(end.result, "Hello, Ada!");
