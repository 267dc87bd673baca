import type { LanguageModel as SdkModel } from "ai";
import { createRuntime, defineAgent, defineTool } from "troupe";
import type { LanguageModel } from "troupe";
import { aiSdkModel, llmAgent } from "troupe/llm";
import type { Prompt } from "troupe/llm";
import type { Json } from "troupe/protocol";
import { collect } from "troupe/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { ofType, textsOf, theOne } from "../../agents/events.ts";
import { asked, chat as asking, TestHost } from "../../runtime/test-host.ts";
import { chat } from "../chat.ts";
import { calling, ending, saying, specifiedModel, VERSIONS } from "./specified-model.ts";
import type { SpecifiedPart } from "./specified-model.ts";
import { RunFold } from "../../../src/view/fold.ts";

const temperature = defineTool({
  name: "temperature",
  description: "Finds out how warm it is in a city.",
  input: z.object({ city: z.string() }),
  effect: "idempotent",
  run: ({ city }) => ({ degrees: city.length }),
});

const plain = { name: "clerk", purpose: "Answers.", instructions: "Be brief." };

// The package is not there for these tests: the model of a provider is called without it.
vi.mock("ai", () => {
  throw new Error("the package ai is not installed");
});

test("the types of all versions fit", () => {
  const models: readonly LanguageModel[] = [] as readonly Exclude<SdkModel, string>[];
  expect(models).toEqual([]);
});

describe.each(VERSIONS)("a model of a provider in version %s of the specification", (version) => {
  test("has its provider search: the search is shown, is run by nothing here, and is in the next prompt", async () => {
    const search = { toolCallId: "s", toolName: "web_search", providerExecuted: true };
    const found = [{ url: "https://a.test", text: "Four degrees." }];
    const model = specifiedModel(
      version,
      [
        { type: "tool-call", ...search, input: '{"query":"Oslo"}' },
        { type: "tool-result", ...search, result: found, providerMetadata: { far: { mark: 1 } } },
        ...saying("Four, I read."),
        calling("temperature", { city: "Oslo" }),
      ],
      [
        { type: "tool-call", ...search, input: '{"query":"more"}' },
        { type: "tool-result", ...search, result: { errorCode: "down" }, isError: true },
        { type: "tool-call", ...search, toolCallId: "t", input: '{"query":"again"}' },
        ...saying("So it is."),
      ],
      saying("Yes."),
    );
    const providerTools = [{ id: "far.web_search", name: "web_search", args: { maxUses: 2 } }] as const;
    const clerk = llmAgent({ ...plain, model, tools: [temperature], settings: { providerTools } });
    const host = new TestHost({ agents: [clerk] });
    await host.ask("clerk", asking);
    const events = await host.events(asked);
    const own = { function_name: "web_search", provider_executed: true };
    expect(ofType(events, "ToolCall")).toMatchObject([
      { ...own, args: { query: "Oslo" } },
      { function_name: "temperature" },
      { ...own, args: { query: "more" } },
      { ...own, args: { query: "again" } },
    ]);
    const [first, , ...others] = ofType(events, "ToolCall").map(({ tool_call_id: id }) => id);
    expect(ofType(events, "ToolResult")).toMatchObject([
      { ...own, tool_call_id: first, result: found },
      { function_name: "temperature" },
    ]);
    expect(ofType(events, "ToolError")).toMatchObject([
      { ...own, tool_call_id: others[0], content: '{"errorCode":"down"}' },
      { ...own, tool_call_id: others[1], content: "the answer ended before its result" },
    ]);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "Four, I read.\n\nSo it is." });

    const [asks, next] = model.calls;
    expect(asks?.["tools"]).toMatchObject([
      { type: "function", name: "temperature" },
      {
        type: version === "v2" ? "provider-defined" : "provider",
        id: "far.web_search",
        name: "web_search",
        args: { maxUses: 2 },
      },
    ]);
    expect(next?.prompt.slice(2)).toMatchObject([
      {
        role: "assistant",
        content: [
          { type: "tool-call", toolCallId: "s", providerExecuted: true, input: { query: "Oslo" } },
          {
            type: "tool-result",
            toolCallId: "s",
            output: { type: "json", value: found },
            providerOptions: { far: { mark: 1 } },
          },
          { type: "text", text: "Four, I read." },
          { type: "tool-call", toolCallId: "a" },
        ],
      },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "a" }] },
    ]);
    // A process that starts again reads these calls, and makes none of them.
    const { run_id } = await host.runtime.status(asked);
    await host.restart();
    await host.ask("clerk", { ...asking, request_id: "later", run_id });
    expect(await host.runtime.status("later")).toMatchObject({ result: "Yes." });
    expect(host.faults).toEqual([]);
  });

  test("is asked again after a crash in the middle of a search, which does not hold up the turn", async () => {
    const search = { toolCallId: "s", toolName: "web_search", providerExecuted: true };
    const endless = new ReadableStream<SpecifiedPart>({
      start: (stream) => stream.enqueue({ type: "tool-call", ...search, input: "{}" }),
    });
    const model = specifiedModel(version, endless, saying("Found."));
    const host = new TestHost({ agents: [llmAgent({ ...plain, model })] });
    await host.ask("clerk", asking);
    await host.environment.advance(100);
    expect(ofType(await host.events(asked), "ToolCall")).toHaveLength(1);
    await host.restartUntilContinued(asked);
    await host.environment.idle();
    const events = await host.events(asked);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "Found." });
    const fold = new RunFold();
    for (const event of events) fold.add(event);
    const calls = [...fold.view.calls.values()].filter(({ kind }) => kind === "call");
    expect(calls).toMatchObject([{ name: "web_search", outcome: "canceled" }]);
    expect(host.faults).toEqual([]);
  });

  test("thinks, speaks, calls a tool and gets its result", async () => {
    const model = specifiedModel(
      version,
      [
        { type: "stream-start", warnings: [] },
        { type: "response-metadata", id: "r" },
        { type: "reasoning-start", id: "0" },
        { type: "reasoning-delta", id: "0", delta: "A city." },
        { type: "reasoning-end", id: "0" },
        ...saying("Let me see."),
        { type: "tool-input-start", id: "a", toolName: "temperature" },
        { type: "tool-input-delta", id: "a", delta: '{"city":"Oslo"}' },
        { type: "tool-input-end", id: "a" },
        calling("temperature", { city: "Oslo" }),
      ],
      saying("Four."),
    );
    const events = await chat(llmAgent({ ...plain, model, tools: [temperature] }), "How warm is Oslo?");

    expect(ofType(events, "ReasoningOutput")).toMatchObject([{ content: "A city." }]);
    expect(textsOf(events)).toEqual(["Let me see.", "\n\nFour."]);
    expect(ofType(events, "CompletionResult")).toMatchObject([
      { model: "far.chat/small", result: { finishReason: "tool-calls" } },
      {
        usage: { input_tokens: 100, cached_input_tokens: 80, output_tokens: 50, reasoning_tokens: 40 },
        result: { finishReason: "stop" },
      },
    ]);
    expect(model.calls[0]).toMatchObject({
      prompt: [
        { role: "system", content: "Be brief." },
        { role: "user", content: [{ type: "text", text: "How warm is Oslo?" }] },
      ],
      tools: [{ type: "function", name: "temperature", inputSchema: { required: ["city"] } }],
      toolChoice: { type: "auto" },
    });
    expect(model.calls[1]?.prompt.slice(2)).toEqual([
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "A city." },
          { type: "text", text: "Let me see." },
          { type: "tool-call", toolCallId: "a", toolName: "temperature", input: { city: "Oslo" } },
        ],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "a",
            toolName: "temperature",
            output: { type: "text", value: '{"degrees":4}' },
          },
        ],
      },
    ]);
  });

  test("gets back what only its provider knows: signatures, ids and hidden reasoning", async () => {
    const signed = { anthropic: { signature: "s" } };
    const hidden = { anthropic: { redactedData: "x" } };
    const thought = { google: { thoughtSignature: "t" } };
    const item = { openai: { itemId: "msg_1" } };
    const model = specifiedModel(
      version,
      [
        { type: "reasoning-start", id: "0" },
        { type: "reasoning-delta", id: "0", delta: "A city." },
        { type: "reasoning-delta", id: "0", delta: "", providerMetadata: signed },
        { type: "reasoning-end", id: "0" },
        { type: "reasoning-start", id: "0", providerMetadata: hidden },
        { type: "reasoning-end", id: "0" },
        ...saying("Well.", { providerMetadata: item }),
        calling("temperature", { city: "Oslo" }, { providerMetadata: thought }),
      ],
      saying("Four."),
    );
    await chat(llmAgent({ ...plain, model, tools: [temperature] }));
    expect(model.calls[1]?.prompt[2]).toEqual({
      role: "assistant",
      content: [
        { type: "reasoning", text: "A city.", providerOptions: signed },
        { type: "reasoning", text: "", providerOptions: hidden },
        { type: "text", text: "Well.", providerOptions: item },
        {
          type: "tool-call",
          toolCallId: "a",
          toolName: "temperature",
          input: { city: "Oslo" },
          providerOptions: thought,
        },
      ],
    });
  });

  test("sees images, and gets back the files that it made", async () => {
    const png = new Uint8Array(Buffer.from("\x89PNG\r\n\x1a\n", "latin1"));
    const made = Buffer.from("made").toString("base64");
    const data = version === "v4" ? { type: "data", data: made } : made;
    const model = specifiedModel(version, [{ type: "file", mediaType: "image/png", data }], saying("Yes."));
    const runtime = createRuntime({ agents: [llmAgent({ ...plain, model })] });
    const body = new Blob([png]).stream();
    const upload = await runtime.upload({ name: "a.png", mimeType: "image/png", body, limitBytes: 1e6 });
    const events = await collect(runtime, "clerk", {
      type: "ChatRequest",
      input: "See.",
      attachments: [upload.artifactId],
    });
    await collect(runtime, "clerk", { type: "ChatRequest", input: "So?", run_id: events[0]?.run_id ?? "" });
    await runtime.close();
    const [, user, assistant] = model.calls[1]?.prompt ?? [];
    const shown = version === "v4" ? { type: "data", data: png } : png;
    expect(user?.content).toMatchObject([{}, { type: "file", mediaType: "image/png", data: shown }]);
    expect(assistant?.content).toEqual([{ type: "file", mediaType: "image/png", data }]);
  });

  test("is asked with settings, a choice of tools and a schema, and says what it ignores", async () => {
    const warning =
      version === "v2"
        ? { type: "unsupported-setting", setting: "seed", details: "it has none" }
        : { type: "unsupported", feature: "seed", details: "it has none" };
    const model = specifiedModel(version, [
      { type: "stream-start", warnings: [warning, { type: "other", message: "slow today" }] },
      ...saying('{"degrees":4}'),
    ]);
    const prompt: Prompt = {
      instructions: [
        { content: "Be brief.", providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } },
        { content: "Be kind." },
      ],
      messages: [{ role: "user", content: "Oslo?", providerOptions: { anthropic: { cacheControl: {} } } }],
      tools: [{ name: "temperature", description: "Finds out.", input: { type: "object" } }],
      output: { type: "object" },
      settings: {
        temperature: 0,
        maxOutputTokens: 100,
        stopSequences: ["."],
        toolChoice: { tool: "temperature" },
        providerOptions: { far: { tier: "flex" } },
      },
    };
    const agent = defineAgent({
      name: "asker",
      purpose: "Asks.",
      chat: async (_input, turn) => {
        await turn.complete({ model, input: prompt as unknown as Json });
      },
    });
    const events = await chat(agent);
    const { prompt: asked, ...options } = model.calls[0] ?? { prompt: [] };
    expect(asked).toEqual([
      {
        role: "system",
        content: "Be brief.",
        providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
      },
      { role: "system", content: "Be kind." },
      {
        role: "user",
        content: [{ type: "text", text: "Oslo?" }],
        providerOptions: { anthropic: { cacheControl: {} } },
      },
    ]);
    expect(options).toEqual({
      temperature: 0,
      maxOutputTokens: 100,
      stopSequences: ["."],
      tools: [
        {
          type: "function",
          name: "temperature",
          description: "Finds out.",
          inputSchema: { type: "object" },
        },
      ],
      toolChoice: { type: "tool", toolName: "temperature" },
      responseFormat: { type: "json", schema: { type: "object" } },
      providerOptions: { far: { tier: "flex" } },
      abortSignal: expect.any(AbortSignal) as AbortSignal,
    });
    const kind = version === "v2" ? "unsupported-setting" : "unsupported";
    expect(theOne(events, "CompletionResult").result).toMatchObject({
      warnings: [`${kind}: seed: it has none`, "other: slow today"],
    });
  });

  test("is stopped with its turn", async () => {
    const ended = Promise.withResolvers<string>();
    const stream = new ReadableStream<SpecifiedPart>({
      start: (controller) => {
        for (const part of saying("Well, ").slice(0, 2)) controller.enqueue(part);
      },
    });
    const model = specifiedModel(version, stream);
    const runtime = createRuntime({ agents: [llmAgent({ ...plain, model })] });
    const { requestId } = await runtime.process("clerk", { type: "ChatRequest", input: "Is it warm?" });
    const feed = await runtime.follow(await runtime.resolve(requestId), { after: 0 });
    for await (const { events } of feed.pages) {
      if (!events.some((event) => event.includes("Well, "))) continue;
      model.calls[0]?.abortSignal?.addEventListener("abort", () => ended.resolve("aborted"));
      await runtime.process("clerk", { type: "CancelRequest", request_id: requestId });
    }
    expect(await ended.promise).toBe("aborted");
    await runtime.close();
  });

  test("is asked again when its stream ends without an end or with an overload, and not when it refuses", async () => {
    const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    const filtered = ending(version, "content-filter");
    const broken = ReadableStream.from(saying("Fo"));
    const model = specifiedModel(version, [overloaded], broken, [filtered]);
    const events = await chat(llmAgent({ ...plain, model, retry: { minMs: 1, maxMs: 1 } }));
    expect(ofType(events, "CompletionRetry").map(({ error_code }) => error_code)).toEqual([
      "model_unavailable",
      "model_unavailable",
    ]);
    expect(events.at(-1)).toMatchObject({ error: { code: "model_refused" } });
  });
});

test("marks for the cache of a provider are on the last instruction and the newest message", async () => {
  const mark = {
    anthropic: { cacheControl: { type: "ephemeral" } },
    bedrock: { cachePoint: { type: "default" } },
  };
  const model = specifiedModel("v4", [calling("temperature", { city: "Oslo" })], saying("Four."));
  const agent = llmAgent({
    ...plain,
    instructions: [{ content: "Be brief." }, { content: "Be kind.", providerOptions: { far: { level: 1 } } }],
    model: aiSdkModel(model, { settings: { providerOptions: { far: { tier: "flex", level: 2 } } } }),
    settings: { cache: mark, providerOptions: { far: { level: 3 } } },
    tools: [temperature],
  });
  await chat(agent);
  const [first, second] = model.calls.map(({ prompt }) => prompt);
  expect(first).toEqual([
    { role: "system", content: "Be brief." },
    { role: "system", content: "Be kind.", providerOptions: { ...mark, far: { level: 1 } } },
    { role: "user", content: [{ type: "text", text: "hello" }], providerOptions: mark },
  ]);
  expect(second?.map((message) => "providerOptions" in message)).toEqual([false, true, false, false, true]);
  expect(model.calls[0]).toMatchObject({ providerOptions: { far: { tier: "flex", level: 3 } } });
  expect(model.calls[0]).not.toHaveProperty("cache");
});

test("a long call that the model writes does not count as silence", async () => {
  const parts = Promise.withResolvers<ReadableStreamDefaultController<SpecifiedPart>>();
  const stream = new ReadableStream<SpecifiedPart>({ start: (controller) => parts.resolve(controller) });
  const model = specifiedModel("v4", stream);
  const agent = defineAgent({
    name: "asker",
    purpose: "Asks.",
    chat: async (_input, turn) => {
      await turn.complete({ model, input: "Oslo?", idleMs: 10_000, firstTokenMs: 10_000 });
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("asker", asking);
  const controller = await parts.promise;
  for (let part = 0; part < 5; part += 1) {
    controller.enqueue({ type: "tool-input-delta", id: "a", delta: "x" });
    await host.environment.advance(9_000);
  }
  for (const part of [...saying("Four."), ending("v4", "stop")]) controller.enqueue(part);
  controller.close();
  await host.environment.advance(1_000);
  const events = await host.events(asked);
  expect(ofType(events, "CompletionRetry")).toEqual([]);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "Four." });
});

test("a provider that asks for a pause gets it: as milliseconds, as seconds, or as a date of its own clock", async () => {
  const busy = (responseHeaders: object): Error =>
    Object.assign(new Error("busy"), { statusCode: 429, isRetryable: true, responseHeaders });
  const date = { date: "Tue, 24 Nov 2026 12:00:00 GMT", "retry-after": "Tue, 24 Nov 2026 12:01:00 GMT" };
  const headers = [{ "retry-after-ms": "70000" }, { "retry-after": "80" }, date];
  const model = specifiedModel("v4", ...headers.map(busy), saying("Four."));
  const host = new TestHost({ agents: [llmAgent({ ...plain, model, retry: { minMs: 1, maxMs: 1 } })] });
  await host.ask("clerk", asking);
  await host.environment.advance(400_000);
  const events = await host.events(asked);
  const retries = ofType(events, "CompletionRetry");
  expect(retries.map(({ ts, until }) => Date.parse(until ?? "") - Date.parse(ts))).toEqual([
    70_000, 80_000, 60_000,
  ]);
  expect(events.at(-1)).toMatchObject({ result: "Four." });
});

test("a fallback is a model of a provider too", async () => {
  const other = specifiedModel("v4", saying("I am the other one."));
  const away = specifiedModel("v3", Object.assign(new Error("down"), { statusCode: 503, isRetryable: true }));
  const events = await chat(llmAgent({ ...plain, model: away, fallback: [other] }));
  expect(events.at(-1)).toMatchObject({ result: "I am the other one." });
});

test("a model of an unknown version, and what is no model, is refused with the reason", async () => {
  const old = { ...specifiedModel("v4"), specificationVersion: "v1" } as unknown as LanguageModel;
  expect(() => llmAgent({ ...plain, model: old })).toThrow(
    "model far.chat/small has version v1 of the specification of language models; use one with v2, v3, v4",
  );
  const agent = defineAgent({
    name: "asker",
    purpose: "Asks.",
    chat: async (_input, turn) => {
      await turn.complete({ model: undefined as never, input: "Oslo?" });
    },
  });
  expect((await chat(agent)).at(-1)).toMatchObject({
    error: {
      message: expect.stringContaining("the model of turn.complete in agent asker is not a model") as string,
    },
  });
});

describe("a name at the gateway", () => {
  test("is looked up as the AI SDK does, once", async () => {
    const model = specifiedModel("v4", saying("I am far."), saying("Still."));
    const languageModel = vi.fn<(id: string) => LanguageModel>(() => model);
    vi.stubGlobal("AI_SDK_DEFAULT_PROVIDER", { languageModel });
    onTestFinished(() => void vi.unstubAllGlobals());
    const agent = llmAgent({ ...plain, model: "far/small" });
    const events = await chat(agent);
    await chat(agent);
    expect(languageModel.mock.calls).toEqual([["far/small"]]);
    expect(events.at(-1)).toMatchObject({ result: "I am far." });
    expect(theOne(events, "CompletionResult").model).toBe("far/small");
  });

  test("needs the package ai, and says so", async () => {
    const events = await chat(llmAgent({ ...plain, model: aiSdkModel("far/small") }));
    expect(events.at(-1)).toMatchObject({
      error: { message: "the model far/small of the gateway needs: npm install ai" },
    });
  });
});
