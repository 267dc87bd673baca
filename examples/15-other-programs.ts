// Two agents that are no code of ours: an HTTP endpoint that streams, and a program that asks a question.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { createRuntime } from "troupe";
import { createClient, httpAgent } from "troupe/client";
import type { OpenWait } from "troupe/client";
import { commandAgent, serve } from "troupe/node";

// An endpoint of another team, which knows nothing of agents.
const weather = createServer((_request, response) => {
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  for (const event of [
    { type: "text", text: "It is 4 degrees " },
    { type: "text", text: "in Oslo." },
    { type: "output", output: { degrees: 4 } },
  ])
    response.write(`${JSON.stringify(event)}\n`);
  response.end();
});
await once(weather.listen(0, "127.0.0.1"), "listening");
const address = weather.address();
assert(typeof address === "object" && address !== null);

// A program in any language: JSON on stdin, lines on stdout. It is started again with the answer.
const program = `
const { input, answers } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
if (answers === undefined) console.log(JSON.stringify({ type: "wait", questions: { size: "Which size?" } }));
else console.log(input, "in", answers.size);
`;

const runtime = createRuntime({
  agents: [
    httpAgent({
      name: "weather",
      purpose: "Says how warm it is.",
      url: `http://127.0.0.1:${address.port}/`,
      // It only reads, so it may be asked again.
      effect: "idempotent",
    }),
    commandAgent({
      name: "shop",
      purpose: "Takes orders.",
      command: process.execPath,
      args: ["-e", program],
    }),
  ],
});
const server = await serve(runtime);
const client = createClient(server.url);

const said: string[] = [];
for await (const event of client.agent("weather").chat("Oslo"))
  if (event.type === "TextOutput") said.push(event.content);
console.log(said.join(""));
assert.deepEqual(said, ["It is 4 degrees ", "in Oslo."]);

const answer = ({ questions }: OpenWait) => {
  assert.deepEqual(questions, { size: "Which size?" });
  return { size: "L" };
};
const order = await client.agent("shop").chat("a shirt", { answer });
console.log(order);
assert.equal(order, "a shirt in L\n");

await server.close();
await runtime.close();
weather.close();
