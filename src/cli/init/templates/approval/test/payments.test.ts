import assert from "node:assert/strict";
import { test } from "node:test";
import { createRuntime } from "troupe";
import { collect } from "troupe/testing";
import { payments } from "../agents/payments.ts";

test("a payment waits for an approval, and pays once it has it", async () => {
  const runtime = createRuntime({ agents: [payments] });
  const pay = {
    type: "OperationRequest",
    operation: "pay",
    input: { to: "bob", amount: 3 },
    request_id: "payment-1",
  } as const;

  const asked = await collect(runtime, "payments", pay);
  assert.equal(asked.at(-1)?.type, "WaitForInput");

  const answer = {
    type: "ResumeWithInput",
    request_id: "payment-1",
    request_keys: { approved: true },
  } as const;
  const paid = await collect(runtime, "payments", answer);
  await runtime.close();

  const end = paid.at(-1);
  assert(end?.type === "RequestCompleted");
  assert.deepEqual(end.output, { receipt: "bob:3" });
});
