import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import type OpenAI from "openai";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import { aiSdkModel, llmAgent } from "troupe/llm";
import { expect, test } from "vitest";
import { assistant } from "../../../agents/assistant.ts";
import { mirror } from "../agentscope/harness/agents.ts";
import { OpenAiServer } from "./server.ts";

const NAMES = ["lamp", "clock"] as const;
const parameters = { type: "object", properties: { on: { type: "boolean" } } };
const chatTools = NAMES.map((name) => ({ type: "function" as const, function: { name, parameters } }));
const tools = NAMES.map((name) => ({ type: "function" as const, name, parameters, strict: false }));
const BOTH = 'call lamp with {"on":true} and call clock';

type Message = OpenAI.ChatCompletionMessageParam;

/** What a program does with a completion: it runs the tools. */
function toResults({ choices }: OpenAI.ChatCompletion): readonly Message[] {
  const [{ message } = {}] = choices;
  if (message === undefined) throw new Error("there is no choice");
  const calls = message.tool_calls ?? [];
  return [
    message,
    ...calls.map((call): Message => {
      if (call.type !== "function") throw new Error("no function");
      const { name, arguments: args } = call.function;
      return { role: "tool", tool_call_id: call.id, content: `${name} ${args}` };
    }),
  ];
}

test("the tools of a client are called, and their results go on in the same turn, which the calls name", async () => {
  await using server = await OpenAiServer.start([assistant]);
  const { client } = server;
  const messages: Message[] = [{ role: "user", content: BOTH }];
  const asked = await client.chat.completions.create({ model: "assistant", messages, tools: chatTools });
  expect(asked.choices).toMatchObject([
    {
      finish_reason: "tool_calls",
      message: {
        content: null,
        tool_calls: [
          { type: "function", function: { name: "lamp", arguments: '{"on":true}' } },
          { type: "function", function: { name: "clock", arguments: "{}" } },
        ],
      },
    },
  ]);
  const all = [...messages, ...toResults(asked)];

  // A result that is missing keeps the turn waiting, and its call is told again.
  const half = await client.chat.completions.create({
    model: "assistant",
    messages: all.slice(0, -1),
    tools: chatTools,
  });
  expect(half.choices[0]).toMatchObject({
    finish_reason: "tool_calls",
    message: { tool_calls: [asked.choices[0]?.message.tool_calls?.[1]] },
  });

  const said = await client.chat.completions.create({ model: "assistant", messages: all, tools: chatTools });
  expect(said.choices[0]).toMatchObject({
    finish_reason: "stop",
    message: { content: 'lamp: lamp {"on":true}\nclock: clock {}' },
  });
  // A request that is repeated is the same answer; another result is too late.
  expect(await client.chat.completions.create({ model: "assistant", messages: all })).toEqual(said);
  const other = [...all.slice(0, -1), { ...all.at(-1), content: "midnight" } as Message];
  await expect(client.chat.completions.create({ model: "assistant", messages: other })).rejects.toMatchObject(
    {
      status: 409,
    },
  );
  const { run_id: runId } = (said as unknown as { readonly metadata: { readonly run_id: string } }).metadata;
  const types = (await server.events(runId)).map(({ type }) => type);
  expect(types.filter((type) => type === "RequestStarted" || type === "RequestCompleted")).toHaveLength(2);
});

test("a stream has the calls, and their answer is streamed after a restart of the server", async () => {
  await using server = await OpenAiServer.start([assistant], { durable: true });
  const messages: Message[] = [{ role: "user", content: BOTH }];
  const body = { model: "assistant", tools: chatTools } as const;
  const first = server.client.chat.completions.stream({ ...body, messages });
  const asked = await first.finalChatCompletion();
  expect(asked.choices[0]?.finish_reason).toBe("tool_calls");
  expect(asked.choices[0]?.message.tool_calls).toMatchObject([
    { function: { name: "lamp", arguments: '{"on":true}' } },
    { function: { name: "clock", arguments: "{}" } },
  ]);
  await server.restart();
  messages.push(...toResults(asked));
  const second = server.client.chat.completions.stream({ ...body, messages });
  expect(await second.finalContent()).toBe('lamp: lamp {"on":true}\nclock: clock {}');
});

test("a response has the calls as items, which are answered by their outputs", async () => {
  await using server = await OpenAiServer.start([assistant]);
  const { client } = server;
  const body = { model: "assistant", tools } as const;
  const stream = client.responses.stream({ ...body, input: BOTH });
  const asked = await stream.finalResponse();
  const calls = asked.output.filter((item) => item.type === "function_call");
  expect(calls).toMatchObject([
    { name: "lamp", arguments: '{"on":true}', status: "completed" },
    { name: "clock", arguments: "{}" },
  ]);
  const { output } = await client.responses.retrieve(asked.id);
  expect(asked.output).toMatchObject(output);
  const outputs = calls.map(({ call_id }): ResponseInputItem => ({
    type: "function_call_output",
    call_id,
    output: '{"result":1,"unit":"m"}',
  }));
  const said = await client.responses.create({ ...body, previous_response_id: asked.id, input: outputs });
  expect(said.output_text).toBe('lamp: {"result":1,"unit":"m"}\nclock: {"result":1,"unit":"m"}');
  const items = await client.responses.inputItems.list(said.id);
  expect(items.data).toMatchObject([{ type: "function_call_output", call_id: calls[1]?.call_id }]);

  // Without the id of the response the calls name the run.
  const next = await client.responses.create({ ...body, input: "call clock" });
  const [call] = next.output;
  if (call?.type !== "function_call") throw new Error("there is no call");
  const noon = { type: "function_call_output", call_id: call.call_id, output: "noon" } as const;
  expect((await client.responses.create({ ...body, input: [call, noon] })).output_text).toBe("clock: noon");
});

test("a text is no result, and a call of another server or run is refused", async () => {
  await using server = await OpenAiServer.start([assistant, mirror]);
  const { completions } = server.client.chat;
  const ask = [{ role: "user", content: "call clock" }] as const;
  const { data, response } = await completions
    .create({ model: "assistant", messages: [...ask], tools: chatTools })
    .withResponse();
  const headers = { "x-run-id": response.headers.get("x-run-id") ?? "" };
  const text = { model: "assistant", messages: [{ role: "user" as const, content: "noon" }] };
  await expect(completions.create(text, { headers })).rejects.toMatchObject({
    status: 409,
    message: expect.stringContaining("the result of clock") as string,
  });
  const results = toResults(data);
  const foreign = { role: "tool", tool_call_id: "call_abc", content: "noon" } as const;
  await expect(completions.create({ model: "assistant", messages: [...ask, foreign] })).rejects.toMatchObject(
    {
      status: 400,
      param: "messages.1.tool_call_id",
    },
  );
  const other = await completions.create({ model: "mirror", messages: [...ask] }).withResponse();
  const wrong = { "x-run-id": other.response.headers.get("x-run-id") ?? "" };
  const body = { model: "assistant", messages: [...ask, ...results] };
  await expect(completions.create(body, { headers: wrong })).rejects.toMatchObject({ status: 400 });
  expect((await completions.create(body)).choices[0]?.message.content).toBe("clock: clock {}");
});

test("an agent that takes no tools of its clients, or is told not to, gets them as a parameter", async () => {
  await using server = await OpenAiServer.start([assistant, mirror]);
  const messages: Message[] = [{ role: "user", content: "call clock" }];
  const body = { messages, tools: chatTools };
  const told = await server.client.chat.completions.create({ ...body, model: "mirror" });
  expect(told.choices[0]?.message.content).toContain('"parameters":{"tools"');
  const off = await server.client.chat.completions.create({
    ...body,
    model: "assistant",
    tool_choice: "none",
  });
  expect(off.choices[0]?.finish_reason).toBe("stop");
  const own = [{ type: "function", function: { name: "payments__pay" } }] as const;
  await expect(
    server.client.chat.completions.create({ model: "assistant", messages, tools: [...own] }),
  ).rejects.toMatchObject({ status: 400 });
});

test("a loop of the AI SDK runs its tools, and an agent of another server its own ones", async () => {
  await using server = await OpenAiServer.start([assistant]);
  const provider = createOpenAICompatible({ name: "troupe", baseURL: `${server.url}/v1` });
  const clock = tool({
    description: "Tells the time.",
    inputSchema: jsonSchema<object>({ type: "object" }),
    execute: async () => ({ time: "noon" }),
  });
  const { text, steps } = await generateText({
    model: provider("assistant"),
    prompt: "call clock",
    tools: { clock },
    stopWhen: stepCountIs(3),
  });
  expect(steps).toHaveLength(2);
  expect(text).toBe('clock: {"time":"noon"}');

  const model = aiSdkModel(provider("assistant"));
  const outer = llmAgent({
    name: "outer",
    purpose: "Asks a server for its words.",
    instructions: "Answer.",
    model,
    tools: { clock },
  });
  await using second = await OpenAiServer.start([outer]);
  const { choices } = await second.client.chat.completions.create({
    model: "outer",
    messages: [{ role: "user", content: "call clock" }],
  });
  expect(choices[0]?.message.content).toContain('clock: {"time":"noon"}');
});
