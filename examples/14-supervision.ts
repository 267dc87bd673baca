// How calls are supervised: a deadline, retries with pauses, the cancel of one call, and a tool that runs twice at once at
// most. Everything is in the log, so all of it holds when the process is killed in between.
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { AgentError, createRuntime, defineAgent, defineTool } from "troupe";
import { collect } from "troupe/testing";
import { z } from "zod";

let failures = 2;
let running = 0;
let most = 0;

/** Fails twice, then works. */
const flaky = defineTool({
  name: "flaky",
  description: "Fails at first.",
  input: z.object({}),
  effect: "idempotent",
  retry: { attempts: 3, backoffMs: 10 },
  run() {
    failures -= 1;
    if (failures >= 0) throw new Error("not yet");
    return "works now";
  },
});

const slow = defineTool({
  name: "slow",
  description: "Takes 20 ms; two run at once.",
  input: z.object({}),
  concurrency: 2,
  async run() {
    running += 1;
    most = Math.max(most, running);
    await setTimeout(20);
    running -= 1;
  },
});

const endless = defineTool({
  name: "endless",
  description: "Never ends.",
  input: z.object({}),
  run: () => new Promise<null>(() => {}),
});

const boss = defineAgent({
  name: "boss",
  purpose: "Supervises its calls.",
  async chat(_input, turn) {
    await turn.text(`${await turn.tool(flaky, {})}\n`);

    // The ToolCall has the deadline in expires_at.
    await turn.text(`${await codeOf(turn.tool(endless, {}, { timeoutMs: 30 }))}\n`);

    // One call is canceled while another one runs.
    const first = turn.tool(endless, {});
    const second = turn.tool(slow, {});
    first.cancel();
    await turn.text(`${await codeOf(first)}\n`);
    await second;

    // Six calls, two at once; the others wait for a slot.
    await Promise.all(Array.from({ length: 6 }, () => turn.tool(slow, {})));
  },
});

/** A failed call is an AgentError with the code of its ToolError; it says which call failed. */
async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "no error";
  } catch (error) {
    assert(error instanceof AgentError);
    return `${error.agent}: ${error.code}`;
  }
}

const runtime = createRuntime({ agents: [boss] });
try {
  const events = await collect(runtime, "boss", { type: "ChatRequest", input: "" });
  const said = events.flatMap((event) => (event.type === "TextOutput" ? [event.content] : []));
  console.log(said.join(""));
  assert.deepEqual(said, ["works now\n", "endless: timeout\n", "endless: canceled\n"]);
  assert.equal(most, 2);

  const attempts = events.filter((event) => event.type === "ToolCall" && event.function_name === "flaky");
  assert.equal(attempts.length, 3);
  console.log("flaky was called 3 times, slow never more than twice at once.");
} finally {
  await runtime.close();
}
