import { createRuntime, memoryLog } from "troupe";
import { collect } from "troupe/testing";
import { afterAll, describe, expect, test } from "vitest";
import { payments } from "../../agents/payments.ts";
import { ofType, requestOf, theOne } from "./events.ts";

const runtime = createRuntime({ agents: [payments], log: memoryLog() });
afterAll(() => runtime.close());

const ways = [
  ["asked in a chat", { type: "ChatRequest", input: "pay 30 to bob" }],
  [
    "asked for the operation",
    { type: "OperationRequest", operation: "pay", input: { to: "bob", amount: 30 } },
  ],
] as const;

describe("payments", () => {
  test.each(ways)("asks before it pays, when %s", async (_, request) => {
    const events = await collect(runtime, "payments", request);
    expect(events.at(-1)).toMatchObject({
      type: "WaitForInput",
      request_keys: { approved: "Pay 30 to bob?" },
      schema: { properties: { approved: { type: "boolean" } }, required: ["approved"] },
    });
    expect(ofType(events, "RequestCompleted")).toEqual([]);
  });

  test.each(ways)("pays after an approval, %s", async (_, request) => {
    const asked = await collect(runtime, "payments", request);
    const events = await collect(runtime, "payments", {
      type: "ResumeWithInput",
      request_id: requestOf(asked),
      request_keys: { approved: true },
    });
    expect(events[0]).toMatchObject({ type: "ResumeWithInput", request_keys: { approved: true } });
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "Paid 30 to bob." });
  });

  test.each(ways)("does not pay when it is declined, %s", async (_, request) => {
    const asked = await collect(runtime, "payments", request);
    const events = await collect(runtime, "payments", {
      type: "ResumeWithInput",
      request_id: requestOf(asked),
      request_keys: { approved: false },
    });
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "declined" });
  });

  test("returns a receipt for the operation", async () => {
    const asked = await collect(runtime, "payments", ways[1][1]);
    const events = await collect(runtime, "payments", {
      type: "ResumeWithInput",
      request_id: requestOf(asked),
      request_keys: { approved: true },
    });
    expect(events.at(-1)).toMatchObject({ output: { receipt: "bob:30" } });
  });

  test("keeps waiting when the answer is not a boolean", async () => {
    const asked = await collect(runtime, "payments", ways[0][1]);
    const request_id = requestOf(asked);
    for (const request_keys of [{}, { approved: "yes" }, { allowed: true }]) {
      const answered = runtime.process("payments", { type: "ResumeWithInput", request_id, request_keys });
      await expect(answered).rejects.toMatchObject({ code: "unprocessable" });
    }
    expect(await runtime.status(request_id)).toMatchObject({ status: "waiting" });
  });

  test.each([0, -30])("refuses %d as an amount", async (amount) => {
    const asked = runtime.process("payments", {
      type: "OperationRequest",
      operation: "pay",
      input: { to: "bob", amount },
    });
    await expect(asked).rejects.toMatchObject({ code: "unprocessable" });
  });

  test.each(["", "hello", "pay bob", "pay 0 to bob", "pay -3 to bob", "please pay 30 to bob"])(
    "describes its input format when it gets %j",
    async (input) => {
      const events = await collect(runtime, "payments", { type: "ChatRequest", input });
      expect(ofType(events, "WaitForInput")).toEqual([]);
      const { finish_reason, result } = theOne(events, "RequestCompleted");
      expect(finish_reason).toBe("success");
      expect(result).toMatch(/^Tell me how much to pay/);
    },
  );
});
