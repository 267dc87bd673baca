import { createRuntime } from "troupe";
import type { Event, RequestId, RunId } from "troupe/protocol";
import { collect } from "troupe/testing";
import { afterAll, describe, expect, test } from "vitest";
import { assistant } from "../../agents/assistant.ts";
import { ofType, requestOf, textsOf, theOne } from "./events.ts";

const runtime = createRuntime({ agents: [assistant] });
afterAll(() => runtime.close());

function say(input: string, runId?: RunId): Promise<readonly Event[]> {
  return collect(runtime, "assistant", {
    type: "ChatRequest",
    input,
    ...(runId !== undefined && { run_id: runId }),
  });
}

function approve(requestId: RequestId, approved: boolean): Promise<readonly Event[]> {
  return collect(runtime, "assistant", {
    type: "ResumeWithInput",
    request_id: requestId,
    request_keys: { approved },
  });
}

function callsIn(events: readonly Event[]): readonly unknown[] {
  return ofType(events, "ToolCall").map(({ function_name, args }) => [function_name, args]);
}

describe("assistant", () => {
  test("calculates with the calculator", async () => {
    const events = await say("what is 6 / 3?");
    expect(callsIn(events)).toEqual([["calculator.divide", { a: 6, b: 3 }]]);
    expect(ofType(events, "CompletionCall")).toHaveLength(2);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "6 / 3 is 2." });
  });

  test("takes a hint while it waits for an approval", async () => {
    const asked = await say("please pay 5 to bob");
    const runId = asked[0]?.run_id ?? "";
    await runtime.process("assistant", {
      type: "Message",
      name: "steer",
      body: "and what is 8 / 2?",
      run_id: runId,
    });
    const events = await approve(requestOf(asked), true);
    expect(callsIn(events)).toEqual([["calculator.divide", { a: 8, b: 2 }]]);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "8 / 2 is 4." });
  });

  test("pays after an approval", async () => {
    const asked = await say("please pay 5 to bob");
    expect(callsIn(asked)).toEqual([["payments.pay", { to: "bob", amount: 5 }]]);
    expect(asked.at(-1)).toMatchObject({
      type: "WaitForInput",
      agent: "payments",
      depth: 1,
      request_keys: { approved: "Pay 5 to bob?" },
    });
    const paid = await approve(requestOf(asked), true);
    expect(paid.at(-1)).toMatchObject({ finish_reason: "success", result: "bob was paid, receipt bob:5." });
  });

  test("pays the calculated amount: two completions call, and a third answers in several texts", async () => {
    const asked = await say("what is 6 / 3, and pay bob that much");
    expect(asked.at(-1)).toMatchObject({ request_keys: { approved: "Pay 2 to bob?" } });
    const paid = await approve(requestOf(asked), true);

    const all = [...asked, ...paid];
    expect(ofType(all, "CompletionResult")).toHaveLength(3);
    expect(callsIn(all)).toEqual([
      ["calculator.divide", { a: 6, b: 3 }],
      ["payments.pay", { to: "bob", amount: 2 }],
    ]);
    expect(textsOf(paid).length).toBeGreaterThan(3);
    expect(paid.at(-1)).toMatchObject({ result: "6 / 3 is 2. bob was paid, receipt bob:2." });
    expect(theOne(paid, "RequestCompleted").usage?.output_tokens).toBeGreaterThan(0);
  });

  test("remembers a result in the run", async () => {
    const first = await say("2 * 4");
    const asked = await say("now pay eve that much", theOne(first, "RequestStarted").run_id);
    expect(asked.at(-1)).toMatchObject({ request_keys: { approved: "Pay 8 to eve?" } });
  });

  test("reports a declined payment", async () => {
    const asked = await say("pay 5 to bob");
    expect((await approve(requestOf(asked), false)).at(-1)).toMatchObject({
      result: "The payment to bob was declined.",
    });
  });

  test("reports what cannot be calculated, and pays nothing then", async () => {
    const events = await say("what is 6 / 0, and pay bob that much");
    expect(events.at(-1)).toMatchObject({
      finish_reason: "success",
      result:
        "6 / 0 has no answer: a number cannot be divided by zero. I do not know how much to pay to bob.",
    });
  });

  test("answers any other text with a sentence that quotes it", async () => {
    const events = await say("good morning");
    expect(callsIn(events)).toEqual([]);
    expect(textsOf(events).join("")).toBe(
      'You said "good morning"; ask me what 6 / 3 is, or to pay 5 to bob.',
    );
  });
});
