import { createRuntime, memoryLog } from "troupe";
import { collect } from "troupe/testing";
import { afterAll, describe, expect, test } from "vitest";
import { calculator } from "../../agents/calculator.ts";
import { ofType, theOne } from "./events.ts";

const runtime = createRuntime({ agents: [calculator], log: memoryLog() });
afterAll(() => runtime.close());

describe("calculator", () => {
  test.each([
    ["2 + 3", "add", { a: 2, b: 3 }, 5],
    ["2-3", "subtract", { a: 2, b: 3 }, -1],
    ["-1.5 * 4", "multiply", { a: -1.5, b: 4 }, -6],
    ["1 / 4", "divide", { a: 1, b: 4 }, 0.25],
    [" 2 - -3 ", "subtract", { a: 2, b: -3 }, 5],
  ])("calculates %s with the tool %s", async (input, tool, args, value) => {
    const events = await collect(runtime, "calculator", { type: "ChatRequest", input });
    const call = theOne(events, "ToolCall");
    expect(call).toMatchObject({ function_name: tool, args, agent: "calculator", depth: 0 });
    expect(ofType(events, "ToolResult")).toMatchObject([
      { function_name: tool, result: { value }, tool_call_id: call.tool_call_id },
    ]);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: `= ${value}` });
  });

  test("reports that dividing by zero has no answer", async () => {
    const events = await collect(runtime, "calculator", { type: "ChatRequest", input: "1 / 0" });
    expect(ofType(events, "ToolError")).toMatchObject([
      { function_name: "divide", code: "tool_error", content: "a number cannot be divided by zero" },
    ]);
    expect(ofType(events, "ToolResult")).toEqual([]);
    expect(events.at(-1)).toMatchObject({
      finish_reason: "success",
      result: "That has no answer: a number cannot be divided by zero.",
    });
  });

  test("reports that a number is too large", async () => {
    const huge = "9".repeat(200);
    const events = await collect(runtime, "calculator", { type: "ChatRequest", input: `${huge} * ${huge}` });
    expect(ofType(events, "ToolError")).toHaveLength(1);
    const { finish_reason, result } = theOne(events, "RequestCompleted");
    expect(finish_reason).toBe("success");
    expect(result).toMatch(/^That has no answer: /);
  });

  test.each(["", "what is love", "2 ^ 3", "2 + ", "2 + 3 + 4", "0x10 + 1"])(
    "describes its input format when it gets %j",
    async (input) => {
      const events = await collect(runtime, "calculator", { type: "ChatRequest", input });
      expect(ofType(events, "ToolCall")).toEqual([]);
      const { finish_reason, result } = theOne(events, "RequestCompleted");
      expect(finish_reason).toBe("success");
      expect(result).toMatch(/^Give me two numbers /);
    },
  );

  test.each([
    ["add", 8],
    ["subtract", 4],
    ["multiply", 12],
    ["divide", 3],
  ])("offers %s as an operation", async (operation, value) => {
    const events = await collect(runtime, "calculator", {
      type: "OperationRequest",
      operation,
      input: { a: 6, b: 2 },
    });
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", output: { value } });
  });

  test("ends the operation divide with an error when b is zero", async () => {
    const events = await collect(runtime, "calculator", {
      type: "OperationRequest",
      operation: "divide",
      input: { a: 6, b: 0 },
    });
    expect(events.at(-1)).toMatchObject({ finish_reason: "error", error: { code: "agent_error" } });
  });
});
