import { createRuntime, defineAgent } from "troupe";
import { expect, test } from "vitest";

test("an answer that leaves another wait open is acknowledged by the oldest open wait", async () => {
  const runtime = createRuntime({
    agents: [
      defineAgent({
        name: "two",
        purpose: "Asks twice.",
        async chat(_input, turn) {
          await Promise.all([turn.waitForInput({ a: "?" }), turn.waitForInput({ b: "?" })]);
        },
      }),
    ],
  });
  const asked = await runtime.process("two", { type: "ChatRequest", input: "" });
  const first = await runtime.acknowledgement(asked, { until: "completed", timeoutMs: 60_000 });

  const answered = await runtime.process("two", {
    type: "ResumeWithInput",
    request_id: asked.requestId,
    wait_id: 3,
    request_keys: { b: 1 },
  });
  const left = await runtime.acknowledgement(answered, { until: "completed", timeoutMs: 60_000 });

  expect(JSON.parse(first ?? "{}")).toMatchObject({ type: "WaitForInput", wait_id: 2 });
  expect(left).toBe(first);
  await runtime.close();
});
