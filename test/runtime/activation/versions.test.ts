import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Agent } from "troupe";
import type { RequestStatus } from "troupe/protocol";
import { expect, test } from "vitest";

function asker(options: { readonly version?: string; readonly compatible?: readonly string[] }): Agent {
  return defineAgent({
    name: "asker",
    purpose: "Asks for a name.",
    ...options,
    async chat(_input, turn) {
      const { name } = await turn.waitForInput({ name: "Your name?" });
      return `Hello ${name as string}`;
    },
  });
}

/** Asks with one agent, and answers when another one is served. Resolves with the status then. */
async function statusAfterChange(before: Agent, after: Agent): Promise<RequestStatus> {
  const log = { ...memoryLog(), close: async () => {} };
  const first = createRuntime({ agents: [before], log });
  const receipt = await first.process("asker", { type: "ChatRequest", input: "hi" });
  await first.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  await first.close();

  const second = createRuntime({ agents: [after], log });
  const answered = await second.process("asker", {
    type: "ResumeWithInput",
    request_id: receipt.requestId,
    request_keys: { name: "Ann" },
  });
  expect(answered.event).toContain('"type":"ResumeWithInput"');
  const { status: phase } = await second.status(receipt.requestId);
  if (phase !== "held") await second.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  const status = await second.status(receipt.requestId);
  await second.close();
  return status;
}

test("a turn continues with the version of its agent that started it", async () => {
  const status = await statusAfterChange(asker({ version: "1" }), asker({ version: "1" }));
  expect(status).toMatchObject({ status: "completed", finish_reason: "success", result: "Hello Ann" });
});

test("a turn is held if its agent has another version after a restart", async () => {
  const status = await statusAfterChange(asker({ version: "1" }), asker({ version: "2" }));
  expect(status).toMatchObject({ status: "held", held: { code: "version_mismatch" } });
});

test("a turn continues with another version that declares it compatible", async () => {
  const after = asker({ version: "2", compatible: ["1"] });
  const status = await statusAfterChange(asker({ version: "1" }), after);
  expect(status).toMatchObject({ status: "completed", finish_reason: "success", result: "Hello Ann" });
});
