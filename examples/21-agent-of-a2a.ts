// An agent on another server that speaks A2A works for one here: what it says is logged here as it comes, and what it asks is asked here.
import assert from "node:assert/strict";
import { createRuntime, defineAgent } from "troupe";
import { a2a, a2aAgent } from "troupe/adapters/a2a";
import { createClient } from "troupe/client";
import { serve } from "troupe/node";
import { z } from "zod";

// Somebody else's server. Any that speaks A2A will do.
const tailor = defineAgent({
  name: "tailor",
  purpose: "Makes a coat.",
  async chat(cloth, turn) {
    const { size } = await turn.waitForInput(z.object({ size: z.number().describe("Which size?") }));
    await turn.text(`A coat of ${cloth}, `);
    await turn.text(`size ${size}.`);
  },
});
const far = await serve(createRuntime({ agents: [tailor] }), { port: 0, adapters: [a2a()] });

// Ours.
const remoteTailor = a2aAgent(`${far.url}/a2a/tailor`);
const shop = defineAgent({
  name: "shop",
  purpose: "Sells coats that others make.",
  tools: [remoteTailor],
  async chat(cloth, turn) {
    const { output } = await turn.call(remoteTailor, "chat", { input: cloth });
    return `Here you are: ${output}`;
  },
});
const near = await serve(createRuntime({ agents: [shop] }), { port: 0 });

const call = createClient(`${near.url}/shop`)
  .agent()
  .chat("wool", { answer: () => ({ size: 52 }) });
for await (const event of call) {
  if (event.type === "TextOutput") console.log(`${event.agent}: ${event.content}`);
  if (event.type === "WaitForInput") console.log("it asks for the size");
}
assert.equal(await call, "Here you are: A coat of wool, size 52.");
await near.close();
await far.close();
