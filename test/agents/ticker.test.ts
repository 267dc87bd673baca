import { createRuntime, memoryLog } from "troupe";
import { collect } from "troupe/testing";
import { afterAll, describe, expect, test } from "vitest";
import { ticker } from "../../agents/ticker.ts";
import { textsOf, theOne } from "./events.ts";

const runtime = createRuntime({ agents: [ticker], log: memoryLog() });
afterAll(() => runtime.close());

describe("ticker", () => {
  test("counts up to the number, each on a line", async () => {
    const events = await collect(runtime, "ticker", { type: "ChatRequest", input: "3 1" });
    expect(textsOf(events)).toEqual(["1\n", "2\n", "3\n"]);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "1\n2\n3\n" });
  });

  test("counts as an operation too", async () => {
    const events = await collect(runtime, "ticker", {
      type: "OperationRequest",
      operation: "count",
      input: { to: 2, every_ms: 0 },
    });
    expect(textsOf(events)).toEqual(["1\n", "2\n"]);
  });

  test("stops when it is canceled", async () => {
    const { requestId } = await runtime.process("ticker", { type: "ChatRequest", input: "1000 3600000" });
    const feed = await runtime.follow(await runtime.resolve(requestId), { after: 0 });
    const events: string[] = [];
    for await (const page of feed.pages) {
      if (events.length === 0) {
        await runtime.process("ticker", { type: "CancelRequest", request_id: requestId });
      }
      events.push(...page.events);
    }
    expect(JSON.parse(events.at(-1) ?? "")).toMatchObject({
      type: "RequestCompleted",
      finish_reason: "canceled",
    });
    expect(events.filter((event) => event.includes('"2\\n"'))).toEqual([]);
  });

  test.each([
    "",
    "5",
    "5 ",
    "0 10",
    "-5 10",
    "5 10 ms",
    "5.5 10",
    "five ten",
    "1e3 10",
    "5  10",
    "999999999 1",
  ])("describes its input format when it gets %j", async (input) => {
    const events = await collect(runtime, "ticker", { type: "ChatRequest", input });
    const { finish_reason, result } = theOne(events, "RequestCompleted");
    expect(finish_reason).toBe("success");
    expect(result).toMatch(/^Give me two whole numbers, .*"10 1000"\.$/);
  });
});
