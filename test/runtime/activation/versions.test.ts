import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Agent } from "troupe";
import type { Event } from "troupe/protocol";
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

async function endAfterChange(before: Agent, after: Agent): Promise<Event> {
  const log = { ...memoryLog(), close: async () => {} };
  const first = createRuntime({ agents: [before], log });
  const receipt = await first.process("asker", { type: "ChatRequest", input: "hi" });
  await first.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  await first.close();

  const second = createRuntime({ agents: [after], log });
  await second
    .process("asker", {
      type: "ResumeWithInput",
      request_id: receipt.requestId,
      request_keys: { name: "Ann" },
    })
    .catch(() => {});
  const end = await second.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  await second.close();
  return JSON.parse(end ?? "") as Event;
}

test("a turn continues with the version of its agent that started it", async () => {
  const end = await endAfterChange(asker({ version: "1" }), asker({ version: "1" }));
  expect(end).toMatchObject({ type: "RequestCompleted", finish_reason: "success", result: "Hello Ann" });
});

test("a turn ends if its agent has another version after a restart", async () => {
  const end = await endAfterChange(asker({ version: "1" }), asker({ version: "2" }));
  expect(end).toMatchObject({ finish_reason: "error", error: { code: "version_mismatch" } });
});

test("a turn continues with another version that declares it compatible", async () => {
  const end = await endAfterChange(asker({ version: "1" }), asker({ version: "2", compatible: ["1"] }));
  expect(end).toMatchObject({ finish_reason: "success", result: "Hello Ann" });
});
