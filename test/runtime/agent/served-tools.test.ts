import { AgentError, createRuntime, defineAgent, defineTool } from "troupe";
import type { Agent } from "troupe";
import type { Event, TurnRequest } from "troupe/protocol";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { TestHost } from "../test-host.ts";

const weather = defineTool({
  name: "get_weather",
  description: "Tells the weather.",
  input: z.object({ place: z.string().transform((place) => place.length) }),
  output: z.object({ degrees: z.number() }),
  async run({ place }, turn) {
    await turn.text("looking");
    turn.progress("half way");
    return { degrees: place };
  },
});

const hello = defineAgent({ name: "hello", purpose: "Greets.", chat: () => "hello" });

const chat = (input: string): TurnRequest => ({ type: "ChatRequest", input });
const ask = (input: { readonly [name: string]: string }): TurnRequest => ({
  type: "OperationRequest",
  operation: "get_weather",
  input,
});

async function run(agents: readonly Agent[], name: string, request: TurnRequest): Promise<readonly Event[]> {
  const runtime = createRuntime({ agents });
  try {
    return await collect(runtime, name, request);
  } finally {
    await runtime.close();
  }
}

test("a served tool is an agent with one operation, which calls the tool", async () => {
  const runtime = createRuntime({ agents: [weather, hello] });
  const { name, purpose, operations, tools } = runtime.describe("get_weather");
  expect({ name, purpose, tools }).toEqual({
    name: "get_weather",
    purpose: "Tells the weather.",
    tools: ["get_weather"],
  });
  expect(operations.map((operation) => operation.name)).toEqual(["chat", "get_weather"]);
  expect(operations[0]).toMatchObject({
    description: "Calls get_weather; the text is its place. Tells the weather.",
    input_schema: { required: ["input"] },
    output_schema: { required: ["degrees"] },
  });
  expect(operations[1]).toMatchObject({
    description: "Tells the weather.",
    input_schema: { required: ["place"] },
    output_schema: { required: ["degrees"] },
  });
  await runtime.close();
});

test.each([
  ["its operation", ask({ place: "Rome" })],
  ["a chat", chat("Rome")],
])("the texts of a tool that is requested by %s belong to a call", async (_, request) => {
  const events = await run([weather], "get_weather", request);
  expect(events.map(({ type, depth }) => [type, depth])).toEqual([
    ["RequestStarted", 0],
    ["ToolCall", 0],
    ["ToolTextOutput", 1],
    ["ToolTextOutput", 1],
    ["ToolResult", 0],
    ["RequestCompleted", 0],
  ]);
  const calls = events.flatMap((event) => ("tool_call_id" in event ? [event.tool_call_id] : []));
  expect(new Set(calls).size).toBe(1);
  expect(events.at(-1)).toMatchObject({ result: '{"degrees":4}', output: { degrees: 4 } });
});

test("an input that does not fit the tool is refused", async () => {
  await expect(run([weather], "get_weather", ask({ town: "Rome" }))).rejects.toMatchObject({
    code: "unprocessable",
    details: { issues: [{ path: "place" }] },
  });
});

test("an unsafe served tool does not run again after a crash", async () => {
  let runs = 0;
  const risky = defineTool({
    name: "risky",
    description: "Does something outside.",
    input: z.object({}),
    run: () => {
      runs += 1;
      return new Promise<never>(() => {});
    },
  });
  const host = new TestHost({ agents: [risky] });
  const request = { type: "OperationRequest", operation: "risky", input: {}, request_id: "req_1" } as const;
  const { requestId } = await host.ask("risky", request);
  await host.restart();
  expect((await host.events(requestId)).at(-1)).toMatchObject({
    type: "RequestCompleted",
    finish_reason: "error",
    error: { message: expect.stringContaining("risky was interrupted") as string },
  });
  expect(runs).toBe(1);
});

test("the default agent is not a tool if there is an agent", async () => {
  const runtime = createRuntime({ agents: [weather, hello] });
  expect(runtime.defaultAgent).toBe("hello");
  await runtime.close();
});

test("a tool with the name of a route cannot be served", () => {
  const runs = defineTool({ name: "runs", description: "", input: z.object({}), run: () => null });
  expect(() => createRuntime({ agents: [runs] })).toThrow(AgentError);
  expect(() => createRuntime({ agents: [runs] })).toThrow(
    '"runs" is not a valid agent name: it is a route of the server',
  );
});
