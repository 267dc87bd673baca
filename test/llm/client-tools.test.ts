import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool, memoryLog } from "troupe";
import type { Agent, EventLog, Runtime } from "troupe";
import { createClient } from "troupe/client";
import { llmAgent, scriptedModel } from "troupe/llm";
import type { LlmAgentOptions, Prompt } from "troupe/llm";
import { serve } from "troupe/node";
import type { ClientTool, RequestId } from "troupe/protocol";
import { RunFold } from "troupe/projection";
import { sqliteLog } from "troupe/storage/sqlite";
import { collect } from "troupe/testing";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { assistant } from "../../agents/assistant.ts";
import { calculator } from "../../agents/calculator.ts";
import { payments } from "../../agents/payments.ts";
import { ofType, requestOf, theOne } from "../agents/events.ts";

const weather: ClientTool = {
  name: "weather",
  description: "Reads the thermometer of the browser.",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  output_schema: { type: "object", properties: { degrees: { type: "number" } }, required: ["degrees"] },
};

/** An agent that asks for the weather in Oslo and says what it hears; and what its model was asked. */
function forecaster(options: Partial<LlmAgentOptions> = {}) {
  const prompts: Prompt[] = [];
  const model = scriptedModel((prompt) => {
    prompts.push(prompt);
    const result = prompt.messages.findLast(({ role }) => role === "tool");
    if (result) return `I hear ${result.content}`;
    return { toolCalls: [{ name: "weather", input: { city: "Oslo" } }] };
  });
  const agent = llmAgent({
    name: "forecaster",
    purpose: "Forecasts.",
    instructions: "Forecast.",
    model,
    clientTools: true,
    ...options,
  });
  return { agent, prompts };
}

function start(agents: readonly Agent[], log: EventLog = memoryLog()): Runtime {
  const runtime = createRuntime({ agents, log });
  onTestFinished(() => runtime.close());
  return runtime;
}

const asked = { type: "ChatRequest", input: "How warm is it?", tools: [weather] } as const;

test("a call of a tool of the client is a wait of the kind tool, and its answer is the result", async () => {
  const { agent, prompts } = forecaster();
  const runtime = start([agent]);
  const before = await collect(runtime, "forecaster", asked);

  const wait = theOne(before, "WaitForInput");
  const call = { name: "weather", args: { city: "Oslo" } };
  expect(wait).toMatchObject({ tool: call, depth: 0 });
  expect(Object.keys(wait.request_keys)).toEqual(["result"]);
  expect(prompts[0]?.tools).toEqual([
    { name: "weather", description: weather.description, input: weather.input_schema },
  ]);
  const status = await runtime.status(requestOf(before));
  expect(status).toMatchObject({
    status: "waiting",
    waiting_for: { kind: "tool", wait_id: wait.wait_id, ...call },
  });

  const after = await collect(runtime, "forecaster", {
    type: "ResumeWithInput",
    request_id: requestOf(before),
    wait_id: wait.wait_id,
    request_keys: { result: { degrees: 4 } },
  });
  expect(theOne(after, "ResumeWithInput").request_keys).toEqual({ result: { degrees: 4 } });
  expect(after.at(-1)).toMatchObject({ finish_reason: "success", result: 'I hear {"degrees":4}' });
});

test("a result that does not fit the schema of the client is refused, and the call stays open", async () => {
  const runtime = start([forecaster().agent]);
  const before = await collect(runtime, "forecaster", asked);
  const request_id = requestOf(before);
  const resume = async (request_keys: object) =>
    runtime.process("forecaster", { type: "ResumeWithInput", request_id, request_keys } as never);

  await expect(resume({ result: { degrees: "four" } })).rejects.toMatchObject({
    code: "unprocessable",
    details: { issues: [{ path: "result.degrees" }] },
  });
  await expect(resume({})).rejects.toMatchObject({ details: { issues: [{ path: "result" }] } });
  await expect(resume({ result: { degrees: 4 }, more: 1 })).rejects.toMatchObject({ code: "unprocessable" });
  await expect(resume({ result: "it is broken", is_error: "yes" })).rejects.toMatchObject({
    details: { issues: [{ path: "is_error" }] },
  });
  expect(await runtime.status(request_id)).toMatchObject({ status: "waiting" });

  const after = await collect(runtime, "forecaster", {
    type: "ResumeWithInput",
    request_id,
    request_keys: { result: "it is broken", is_error: true },
  });
  expect(after.at(-1)).toMatchObject({ result: "I hear it is broken" });
});

test("arguments that do not fit the schema of the client are told to the model and not to the client", async () => {
  const prompts: Prompt[] = [];
  const model = scriptedModel((prompt) => {
    prompts.push(prompt);
    return prompt.messages.length > 1
      ? "Never mind."
      : { toolCalls: [{ name: "weather", input: { city: 7 } }] };
  });
  const runtime = start([forecaster({ model }).agent]);
  const events = await collect(runtime, "forecaster", asked);
  expect(ofType(events, "WaitForInput")).toEqual([]);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "Never mind." });
  expect(prompts[1]?.messages.at(-1)).toMatchObject({
    isError: true,
    content: expect.stringContaining("city") as unknown,
  });
});

test("an open call of the client survives a restart of the server", async () => {
  const directory = await mkdtemp(join(tmpdir(), "troupe-client-tools-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const { agent } = forecaster();
  const first = start([agent], sqliteLog(directory));
  const before = await collect(first, "forecaster", asked);
  await first.close();

  const after = await collect(start([agent], sqliteLog(directory)), "forecaster", {
    type: "ResumeWithInput",
    request_id: requestOf(before),
    request_keys: { result: { degrees: -2 } },
  });
  expect(after.at(-1)).toMatchObject({ finish_reason: "success", result: 'I hear {"degrees":-2}' });
});

test("calls of several tools are open at once beside the agent's own, and are answered in any order", async () => {
  const own = defineTool({
    name: "clock",
    description: "Tells the time.",
    input: z.object({}),
    run: () => "noon",
  });
  const model = scriptedModel(({ messages }) => {
    const results = messages.flatMap((message) => (message.role === "tool" ? [message.content] : []));
    if (results.length > 0) return results.join(" ");
    const calls = ["Oslo", "Bergen"].map((city) => ({ name: "weather", input: { city } }));
    return { toolCalls: [...calls, { name: "clock", input: {} }] };
  });
  const runtime = start([forecaster({ model, tools: [own] }).agent]);
  const before = await collect(runtime, "forecaster", { ...asked, tools: [{ name: "weather" }] });
  const [oslo, bergen] = ofType(before, "WaitForInput");
  expect(oslo?.tool?.args).toEqual({ city: "Oslo" });
  expect(bergen?.tool?.args).toEqual({ city: "Bergen" });

  const request_id = requestOf(before);
  const answers = [
    [bergen, "rain"],
    [oslo, "snow"],
  ] as const;
  let after = before;
  for (const [wait, result] of answers) {
    after = await collect(runtime, "forecaster", {
      type: "ResumeWithInput",
      request_id,
      wait_id: wait?.wait_id ?? 0,
      request_keys: { result },
    });
  }
  expect(after.at(-1)).toMatchObject({ finish_reason: "success", result: "snow rain noon" });
});

test("a tool of the client cannot have the name of one of the agent's own", async () => {
  const own = defineTool({ name: "weather", description: "Ours.", input: z.object({}), run: () => "sun" });
  const runtime = start([
    forecaster({ tools: [own] }).agent,
    forecaster({ name: "team", agents: [calculator] }).agent,
  ]);
  await expect(runtime.process("forecaster", asked)).rejects.toMatchObject({
    code: "unprocessable",
    message: "agent forecaster has a tool weather of its own",
  });
  const tools = [{ name: "calculator__add" }];
  await expect(runtime.process("team", { ...asked, tools })).rejects.toMatchObject({ code: "unprocessable" });
});

test("tools that are chosen in the turn come before those of the client with the same name", async () => {
  const own = defineTool({
    name: "weather",
    description: "Ours.",
    input: z.object({ city: z.string() }),
    run: () => "sun",
  });
  const runtime = start([forecaster({ tools: () => [own] }).agent]);
  const events = await collect(runtime, "forecaster", asked);
  expect(events.at(-1)).toMatchObject({ result: "I hear sun" });
});

test("an agent without clientTools leaves the tools of a client to its code", async () => {
  const { agent, prompts } = forecaster({ clientTools: false });
  const runtime = start([agent]);
  const events = await collect(runtime, "forecaster", asked);
  expect(ofType(events, "WaitForInput")).toEqual([]);
  expect(prompts[0]?.tools).toEqual([]);
  expect(runtime.describe("forecaster").client_tools).toBeUndefined();
});

test("a person can be asked before the client gets a call", async () => {
  const runtime = start([forecaster({ approve: ["weather"] }).agent]);
  const before = await collect(runtime, "forecaster", asked);
  expect(theOne(before, "WaitForInput")).toMatchObject({ approval: { tool: "weather" } });
  const request_id = requestOf(before);
  const then = await collect(runtime, "forecaster", {
    type: "ResumeWithInput",
    request_id,
    request_keys: { approved: true },
  });
  expect(then.at(-1)).toMatchObject({ type: "WaitForInput", tool: { name: "weather" } });
});

test("tools in another form are refused by their place, and nothing starts", async () => {
  const server = await serve(start([forecaster().agent]), { port: 0 });
  onTestFinished(() => server.close());
  const post = async (tools: unknown): Promise<Response> =>
    fetch(new URL("/forecaster/process", server.url), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ type: "ChatRequest", input: "hi", tools }),
    });
  const refused: readonly (readonly [unknown, string])[] = [
    ["weather", "tools"],
    [[{ name: "we ather" }], "tools.0.name"],
    [[{ name: "a", input_schema: "string" }], "tools.0.input_schema"],
    [[{ name: "a" }, { name: "a" }], "tools"],
    [Array.from({ length: 129 }, (_, index) => ({ name: `t${index}` })), "tools"],
  ];
  for (const [tools, path] of refused) {
    const response = await post(tools);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { code: "invalid_request", errors: [{ path }] },
    ]);
  }
  expect(await (await fetch(new URL("/runs", server.url))).json()).toEqual([]);
});

test("a client of the package brings tools and runs them", async () => {
  const server = await serve(start([assistant, calculator, payments]), { port: 0 });
  onTestFinished(() => server.close());
  const client = createClient(server.url);
  const call = client.agent("assistant").chat('call clock with {"zone":"UTC"} and call lamp', {
    tools: [{ name: "clock" }, { name: "lamp" }],
    answer: ({ tool }) => tool && { result: `${tool.name} ${JSON.stringify(tool.args)}` },
  });
  expect(await call).toBe('clock: clock {"zone":"UTC"}\nlamp: lamp {}');
  expect((await client.agent("assistant").describe()).client_tools).toBe(true);
});

test("a view shows the call with the wait", async () => {
  const runtime = start([forecaster().agent]);
  const events = await collect(runtime, "forecaster", asked);
  const fold = new RunFold();
  for (const event of events) fold.take(event);
  expect(fold.view.waits).toMatchObject([
    { tool: { name: "weather", args: { city: "Oslo" } }, state: "open" },
  ]);
});

test("a repeated request with other tools is another request", async () => {
  const runtime = start([forecaster().agent]);
  const request = { ...asked, request_id: "req-1" as RequestId };
  await collect(runtime, "forecaster", request);
  expect(await runtime.process("forecaster", request)).toMatchObject({ replayed: true });
  await expect(runtime.process("forecaster", { ...request, tools: [] })).rejects.toMatchObject({
    code: "conflict",
  });
});
