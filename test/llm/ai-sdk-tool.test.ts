import { jsonSchema, tool } from "ai";
import { defineTool } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import type { Tools } from "troupe/llm";
import type { Event, Json } from "troupe/protocol";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ofType, theOne } from "../agents/events.ts";
import { chat } from "./chat.ts";

/** Lets a model call one of the tools once. */
async function call(tools: Tools, name: string, input: Json): Promise<readonly Event[]> {
  const model = scriptedModel([{ toolCalls: [{ name, input }] }, "Done."]);
  return chat(llmAgent({ name: "clerk", purpose: "Works.", instructions: "", model, tools }));
}

describe("a tool of the AI SDK", () => {
  test("is called by its converted name, with the parsed input", async () => {
    const getWeather = tool({
      description: "Says how warm it is.",
      inputSchema: z.object({ city: z.string(), unit: z.string().default("C") }),
      execute: async ({ city, unit }, { toolCallId }) => ({ degrees: `${city.length} ${unit}`, toolCallId }),
    });
    const events = await call({ getWeather }, "get_weather", { city: "Oslo" });
    expect(theOne(events, "ToolCall")).toMatchObject({
      function_name: "get_weather",
      args: { city: "Oslo" },
    });
    expect(theOne(events, "ToolResult").result).toEqual({
      degrees: "4 C",
      toolCallId: expect.stringMatching(/^run_.{21}\.c1\.3$/u) as string,
    });
  });

  test("can have a JSON Schema with its own validation", async () => {
    const add = tool({
      inputSchema: jsonSchema<{ a: number }>(
        { type: "object", properties: { a: { type: "number" } } },
        {
          validate: (value) =>
            typeof (value as { a?: unknown }).a === "number"
              ? { success: true, value: value as { a: number } }
              : { success: false, error: new Error("a is a number") },
        },
      ),
      execute: ({ a }) => a + 1,
    });
    expect(theOne(await call({ add }, "add", { a: 1 }), "ToolResult").result).toBe(2);
    expect(theOne(await call({ add }, "add", { a: "1" }), "ToolError").content).toBe(
      "the input of add does not fit: a is a number",
    );
  });

  test("shows the values it yields as progress", async () => {
    const search = tool({
      inputSchema: z.object({}),
      async *execute() {
        yield "looking";
        yield { found: 1 };
        yield { found: 2 };
      },
    });
    const events = await call({ search }, "search", {});
    expect(ofType(events, "ToolTextOutput").map(({ content }) => content)).toEqual([
      "looking",
      '{"found":1}',
    ]);
    expect(theOne(events, "ToolResult").result).toEqual({ found: 2 });
  });

  test("that needs approval gets it", async () => {
    const pay = tool({ inputSchema: z.object({}), execute: () => "paid", needsApproval: true });
    const events = await call({ pay }, "pay", {});
    expect(ofType(events, "ToolCall")).toEqual([]);
    expect(events.at(-1)).toMatchObject({
      type: "WaitForInput",
      request_keys: { approved: "Call pay with {}?" },
    });
  });

  test("can be combined with our tools, which keep their names", async () => {
    const count = defineTool({ name: "count", description: "Counts.", input: z.object({}), run: () => 7 });
    const ping = tool({ inputSchema: z.object({}), execute: () => "pong" });
    expect(theOne(await call({ count, ping }, "count", {}), "ToolResult").result).toBe(7);
    await expect(call({ tally: count }, "tally", {})).rejects.toThrow(
      "tool count is listed under the name tally; use its own name",
    );
  });

  test("without an execute function is refused", async () => {
    const confirm = tool({ inputSchema: z.object({}) });
    await expect(call({ confirm }, "confirm", {})).rejects.toThrow(
      "tool confirm of the AI SDK has no execute function",
    );
  });
});
