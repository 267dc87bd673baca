import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";
import OpenAI from "openai";
import { aiSdkModel, llmAgent, scriptedModel } from "troupe/llm";
import { expect, test } from "vitest";
import { calculator } from "../../../agents/calculator.ts";

import { interviewer } from "../../../agents/interviewer.ts";
import { payments } from "../../../agents/payments.ts";
import { form, mirror, publisher, returning, thinker, thrower } from "../agentscope/harness/agents.ts";
import { OpenAiServer } from "./server.ts";

const hi = { role: "user", content: "hi" } as const;

interface WithMetadata {
  readonly metadata: { readonly run_id: string; readonly request_id: string };
}

test("every agent is a model, and each of its other operations", async () => {
  await using server = await OpenAiServer.start([returning, calculator]);
  const { client } = server;
  const ids: string[] = [];
  for await (const { id, object } of client.models.list()) {
    expect(object).toBe("model");
    ids.push(id);
  }
  expect(ids).toEqual([
    "returning",
    "calculator",
    ...["add", "subtract", "multiply", "divide"].map((name) => `calculator/${name}`),
  ]);
  expect((await client.models.retrieve("calculator/add")).id).toBe("calculator/add");
  const unknown = client.models.retrieve("nobody");
  await expect(unknown).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  await expect(unknown).rejects.toMatchObject({
    code: "model_not_found",
    param: "model",
    type: "invalid_request_error",
  });
});

test("a chat is answered whole, with its run and usage", async () => {
  await using server = await OpenAiServer.start([returning, thinker]);
  const { client } = server;
  const said = await client.chat.completions.create({ model: "returning", messages: [hi] });
  expect(said.choices).toEqual([
    {
      index: 0,
      message: { role: "assistant", content: "You said hi.", refusal: null },
      logprobs: null,
      finish_reason: "stop",
    },
  ]);
  const { run_id, request_id } = (said as unknown as WithMetadata).metadata;
  expect(said.id).toBe(`chatcmpl_${request_id}`);
  expect((await server.events(run_id)).map(({ type }) => type)).toContain("RequestCompleted");
  const { data, response } = await client.chat.completions
    .create({ model: "thinker", messages: [hi] })
    .withResponse();
  expect(response.headers.get("x-run-id")).toMatch(/^run_/);
  expect(data.choices[0]?.message).toMatchObject({
    content: "I ask. It is 4 degrees.",
    reasoning_content: "Hm.",
  });
  expect(data.usage?.total_tokens).toBe(
    (data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0),
  );
});

test("a stream has the text as it is said, then the reason and the usage", async () => {
  await using server = await OpenAiServer.start([thinker]);
  const stream = server.client.chat.completions.stream({
    model: "thinker",
    messages: [hi],
    stream_options: { include_usage: true },
  });
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const final = await stream.finalChatCompletion();
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  expect(chunks[0]?.choices[0]?.delta).toEqual({ role: "assistant", content: "" });
  expect(chunks.flatMap(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe(
    "I ask. It is 4 degrees.",
  );
  expect(final.choices[0]).toMatchObject({
    message: { content: "I ask. It is 4 degrees." },
    finish_reason: "stop",
  });
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: final.usage?.total_tokens } });
  // The tools of the agent are its own: the client is not asked to run them.
  expect(JSON.stringify(chunks)).not.toContain("tool_calls");
  expect((final as unknown as WithMetadata).metadata.run_id).toMatch(/^run_/);
});

test("a new run gets what was said before, the parameters and the files; a known run its own history", async () => {
  await using server = await OpenAiServer.start([mirror]);
  const { client } = server;
  const answer = await client.chat.completions.create({
    model: "mirror",
    temperature: 0.5,
    metadata: { team: "red" },
    messages: [
      { role: "developer", content: "Be brief." },
      { role: "user", content: "one" },
      { role: "assistant", content: "two" },
      {
        role: "user",
        content: [
          { type: "text", text: "three" },
          { type: "image_url", image_url: { url: "data:image/png;base64,cG5n" } },
          { type: "image_url", image_url: { url: "https://example.com/a.png" } },
          { type: "file", file: { filename: "a.txt", file_data: "data:text/plain;base64,dHh0" } },
        ],
      },
    ],
  });
  const got = JSON.parse(answer.choices[0]?.message.content ?? "") as unknown;
  expect(got).toEqual({
    input: "three",
    metadata: {
      team: "red",
      parameters: { temperature: 0.5 },
      content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }],
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "one" },
        { role: "assistant", content: "two" },
      ],
    },
    files: [
      { name: "image.png", type: "image/png", text: "png" },
      { name: "a.txt", type: "text/plain", text: "txt" },
    ],
  });
  const { run_id } = (answer as unknown as WithMetadata).metadata;
  const next = await client.chat.completions.create(
    { model: "mirror", messages: [hi, { role: "assistant", content: "x" }, hi] },
    { headers: { "x-run-id": run_id } },
  );
  expect((next as unknown as WithMetadata).metadata.run_id).toBe(run_id);
  expect(next.choices[0]?.message.content).not.toContain("messages");
});

test("an operation takes JSON, and may be asked for the schema that it has", async () => {
  await using server = await OpenAiServer.start([calculator]);
  const { client, runtime } = server;
  const ask = { model: "calculator/add", messages: [{ role: "user", content: '{"a": 1, "b": 2}' }] } as const;
  const schema = runtime.describe("calculator").operations.find(({ name }) => name === "add")?.output_schema;
  const answer = await client.chat.completions.create({
    ...ask,
    messages: [...ask.messages],
    response_format: {
      type: "json_schema",
      json_schema: { name: "sum", schema: schema as Record<string, unknown> },
    },
  });
  expect(JSON.parse(answer.choices[0]?.message.content ?? "")).toEqual({ value: 3 });
  await expect(
    client.chat.completions.create({ model: "calculator/add", messages: [hi] }),
  ).rejects.toMatchObject({ status: 400, param: "messages.0.content" });
});

test("a question is a text, which the next message in its run answers", async () => {
  await using server = await OpenAiServer.start([payments, interviewer, form]);
  const { client } = server;
  const asked = await client.chat.completions.create({
    model: "payments",
    messages: [{ role: "user", content: "pay 30 to bob" }],
  });
  expect(asked.choices[0]).toMatchObject({ message: { content: "Pay 30 to bob?" }, finish_reason: "stop" });
  const { run_id } = (asked as unknown as WithMetadata).metadata;
  const wrong = client.chat.completions.create({
    model: "payments",
    messages: [{ role: "user", content: "perhaps" }],
    metadata: { run_id },
  });
  await expect(wrong).rejects.toBeInstanceOf(OpenAI.BadRequestError);
  const paid = await client.chat.completions.create({
    model: "payments",
    messages: [{ role: "user", content: "yes" }],
    metadata: { run_id },
  });
  expect(paid.choices[0]?.message.content).toBe("Paid 30 to bob.");
  expect((await server.events(run_id)).filter(({ type }) => type === "RequestStarted")).toHaveLength(1);
  // Of two questions both are shown; the oldest is answered first.
  const both = await client.chat.completions.create({ model: "interviewer", messages: [hi] });
  expect(both.choices[0]?.message.content?.split("\n\n")).toHaveLength(2);
  const stream = client.chat.completions.stream({ model: "form", messages: [hi] });
  expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe(
    "Before. \n\nname: Your name?\nage: Your age?",
  );
});

test("files are links, and a turn that fails is an error that is not tried again", async () => {
  await using server = await OpenAiServer.start([publisher, thrower]);
  const { client } = server;
  const said = await client.chat.completions.create({ model: "publisher", messages: [hi] });
  const [, url = ""] = /\[a\.png\]\((\S+)\)/.exec(said.choices[0]?.message.content ?? "") ?? [];
  expect(await (await fetch(url)).text()).toBe("png");
  const eager = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none" });
  await expect(eager.chat.completions.create({ model: "thrower", messages: [hi] })).rejects.toMatchObject({
    status: 500,
    type: "server_error",
    code: "agent_error",
  });
  expect((await server.runtime.runs({ agent: "thrower", limit: 10 })).runs).toHaveLength(1);
  const stream = client.chat.completions.stream({ model: "thrower", messages: [hi] });
  await expect(stream.finalChatCompletion()).rejects.toThrow("it broke");
});

test("the AI SDK talks to an agent as to a model, and so does another server of ours", async () => {
  await using server = await OpenAiServer.start([returning, mirror]);
  const provider = createOpenAICompatible({ name: "ours", baseURL: `${server.url}/v1`, includeUsage: true });
  expect((await generateText({ model: provider("returning"), prompt: "hi" })).text).toBe("You said hi.");
  const streamed = streamText({ model: provider("returning"), prompt: "hi" });
  let text = "";
  for await (const piece of streamed.textStream) text += piece;
  expect(text).toBe("You said hi.");
  const front = llmAgent({
    name: "front",
    purpose: "Asks another server.",
    instructions: "Be kind.",
    model: aiSdkModel(provider("mirror")),
  });
  await using other = await OpenAiServer.start([front]);
  const { client } = other;
  const first = await client.chat.completions.create({ model: "front", messages: [hi] });
  const { run_id } = (first as unknown as WithMetadata).metadata;
  const second = await client.chat.completions.create({
    model: "front",
    messages: [{ role: "user", content: "again" }],
    metadata: { run_id },
  });
  expect(JSON.parse(second.choices[0]?.message.content ?? "")).toMatchObject({
    input: "again",
    metadata: {
      messages: [
        { role: "system", content: "Be kind." },
        { role: "user", content: "hi" },
        { role: "assistant", content: first.choices[0]?.message.content },
      ],
    },
  });
});

test("an agent with a model gets what was said before a new run", async () => {
  const seen: string[][] = [];
  const model = scriptedModel(({ messages }) => {
    seen.push(messages.map(({ role, content }) => `${role}: ${content}`));
    return { text: "ok" };
  });
  await using server = await OpenAiServer.start([
    llmAgent({ name: "talker", purpose: "Talks.", instructions: "", model }),
  ]);
  await server.client.chat.completions.create({
    model: "talker",
    messages: [hi, { role: "assistant", content: "hello" }, { role: "user", content: "more" }],
  });
  expect(seen).toEqual([["user: hi", "assistant: hello", "user: more"]]);
});
