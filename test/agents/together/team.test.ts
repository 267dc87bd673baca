import { createRuntime, memoryLog } from "troupe";
import { collect } from "troupe/testing";
import { afterAll, describe, expect, test } from "vitest";
import { team } from "../../../agents/team.ts";
import { ofType, requestOf } from "../events.ts";

const runtime = createRuntime({ agents: [team], log: memoryLog() });
afterAll(() => runtime.close());

describe("team", () => {
  test("answers with the result of its researcher and the researcher's summarizer", async () => {
    const events = await collect(runtime, "team", { type: "ChatRequest", input: "the moon" });
    expect(
      ofType(events, "ToolCall").map(({ agent, depth, function_name }) => [depth, agent, function_name]),
    ).toEqual([
      [0, "team", "researcher"],
      [1, "researcher", "summarizer"],
    ]);
    expect(ofType(events, "TextOutput").map(({ agent, depth }) => [depth, agent])).toEqual([
      [2, "summarizer"],
      [1, "researcher"],
      [0, "team"],
    ]);
    expect(events.at(-1)).toMatchObject({
      type: "RequestCompleted",
      agent: "team",
      depth: 0,
      result: "About the moon: The first question about the moon is where it comes from.",
    });
    expect(ofType(events, "RequestCompleted")).toHaveLength(1);
  });

  test("asks its caller before it buys, and reports the result", async () => {
    const asked = await collect(runtime, "team", { type: "ChatRequest", input: "buy a lamp for 5" });
    expect(asked.at(-1)).toMatchObject({
      type: "WaitForInput",
      agent: "payments",
      depth: 1,
      request_keys: { approved: "Pay 5 to the shop?" },
    });

    const bought = await collect(runtime, "team", {
      type: "ResumeWithInput",
      request_id: requestOf(asked),
      request_keys: { approved: true },
    });
    expect(bought.at(-1)).toMatchObject({
      finish_reason: "success",
      result: "Bought a lamp, receipt the shop:5.",
    });
  });

  test("buys nothing when its caller declines", async () => {
    const asked = await collect(runtime, "team", { type: "ChatRequest", input: "buy a lamp for 5" });
    const declined = await collect(runtime, "team", {
      type: "ResumeWithInput",
      request_id: requestOf(asked),
      request_keys: { approved: false },
    });
    expect(declined.at(-1)).toMatchObject({ finish_reason: "success", result: "Did not buy a lamp." });
  });

  test("refuses a price of zero", async () => {
    const events = await collect(runtime, "team", { type: "ChatRequest", input: "buy a lamp for 0" });
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "Tell me a price above 0." });
  });
});
