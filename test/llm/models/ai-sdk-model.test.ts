import { inspect } from "node:util";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createRuntime, defineAgent, defineTool } from "troupe";
import type { Model } from "troupe";
import { aiSdkModel, llmAgent, modelFromEnv, scriptedModel } from "troupe/llm";
import type { LlmAgentOptions, ModelVariables } from "troupe/llm";
import type { Event } from "troupe/protocol";
import { createMetrics } from "troupe/http";
import { collect } from "troupe/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { ofType, textsOf, theOne } from "../../agents/events.ts";
import { hastyEnvironment } from "../../client/hasty.ts";
import { chat } from "../chat.ts";
import { breakingOff, dropping, failing, OpenAiServer, streaming } from "./openai-server.ts";

const temperature = defineTool({
  name: "temperature",
  description: "Finds out how warm it is in a city.",
  input: z.object({ city: z.string() }),
  effect: "idempotent",
  run: ({ city }) => {
    if (city === "Atlantis") throw new Error("there is no such city");
    return { degrees: city.length };
  },
});

function modelAt(server: OpenAiServer, options?: Parameters<typeof aiSdkModel>[1]): Model {
  const provider = createOpenAICompatible({
    name: "local",
    baseURL: server.url,
    apiKey: "secret",
    includeUsage: true,
  });
  return aiSdkModel(provider("small"), options);
}

async function ask(model: Model, options: Partial<LlmAgentOptions> = {}): Promise<readonly Event[]> {
  const agent = llmAgent({
    name: "clerk",
    purpose: "Answers.",
    instructions: "Be brief.",
    model,
    ...options,
  });
  return chat(agent, "How warm is Oslo?");
}

/** Asks a model, and returns what the operator's log says of it too. */
async function askLogged(model: Model): Promise<{ readonly events: readonly Event[]; readonly log: string }> {
  const log: string[] = [];
  const telemetry = createMetrics({
    log: (line, thrown) => void log.push(line, inspect(thrown)),
  });
  const plain = { name: "clerk", purpose: "Answers.", instructions: "Be brief.", model };
  const agent = llmAgent({ ...plain, retry: { forMs: 0 } });
  const runtime = createRuntime({ agents: [agent], telemetry, environment: hastyEnvironment() });
  const events = await collect(runtime, "clerk", { type: "ChatRequest", input: "How warm is Oslo?" });
  await runtime.close();
  return { events, log: log.join("\n") };
}

describe("a model of the AI SDK", () => {
  test("streams reasoning and text, and reports its usage", async () => {
    await using server = await OpenAiServer.start(
      streaming("stop", { reasoning_content: "A city." }, { content: "Four " }, { content: "degrees." }),
    );
    const events = await ask(modelAt(server, { price: { input: 1_000, output: 250_000 } }));

    expect(server.requests).toMatchObject([
      {
        model: "small",
        stream: true,
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "How warm is Oslo?" },
        ],
      },
    ]);
    expect(server.keys).toEqual(["Bearer secret"]);
    expect(ofType(events, "ReasoningOutput")).toMatchObject([{ content: "A city." }]);
    expect(textsOf(events)).toEqual(["Four ", "degrees."]);
    expect(ofType(events, "CompletionResult")).toMatchObject([
      { model: "local.chat/small", usage: { input_tokens: 12, output_tokens: 4, cost: 1.012 } },
    ]);
    expect(events.at(-1)).toMatchObject({ result: "Four degrees." });
  });

  test("lets the agent make its calls, and gets their results", async () => {
    await using server = await OpenAiServer.start(
      streaming(
        "tool_calls",
        { content: "Let me see." },
        { tool_calls: [{ index: 0, id: "a", function: { name: "temperature", arguments: '{"city":' } }] },
        { tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] },
        {
          tool_calls: [
            { index: 1, id: "b", function: { name: "temperature", arguments: '{"city":"Atlantis"}' } },
          ],
        },
      ),
      streaming("stop", { content: "Four." }),
    );
    const events = await ask(modelAt(server), { tools: [temperature] });

    expect(server.requests[0]?.tools).toMatchObject([
      { function: { name: "temperature", parameters: { type: "object", required: ["city"] } } },
    ]);
    expect(ofType(events, "ToolCall").map(({ args }) => args)).toEqual([
      { city: "Oslo" },
      { city: "Atlantis" },
    ]);
    expect(server.requests[1]?.messages.slice(2)).toMatchObject([
      {
        role: "assistant",
        content: "Let me see.",
        tool_calls: [
          { id: "a", function: { name: "temperature", arguments: '{"city":"Oslo"}' } },
          { id: "b", function: { name: "temperature", arguments: '{"city":"Atlantis"}' } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: '{"degrees":4}' },
      { role: "tool", tool_call_id: "b", content: "there is no such city" },
    ]);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "Let me see.\n\nFour." });
  });

  test("gets an error for an unknown tool and for input that is not JSON", async () => {
    await using server = await OpenAiServer.start(
      streaming(
        "tool_calls",
        { tool_calls: [{ index: 0, id: "a", function: { name: "search", arguments: "{}" } }] },
        { tool_calls: [{ index: 1, id: "b", function: { name: "temperature", arguments: "{city" } }] },
      ),
      streaming("stop", { content: "I cannot." }),
    );
    const events = await ask(modelAt(server), { tools: [temperature] });

    expect(ofType(events, "ToolCall")).toEqual([]);
    expect(server.requests[1]?.messages.slice(-2)).toMatchObject([
      { role: "tool", tool_call_id: "a", content: "there is no tool search" },
      {
        role: "tool",
        tool_call_id: "b",
        content: expect.stringMatching(/^the input of temperature is not JSON: /) as string,
      },
    ]);
    expect(events.at(-1)).toMatchObject({ result: "I cannot." });
  });

  test("gets a short error for long input that is not JSON", async () => {
    const input = `{city ${"x".repeat(100_000)}`;
    await using server = await OpenAiServer.start(
      streaming("tool_calls", {
        tool_calls: [{ index: 0, id: "a", function: { name: "temperature", arguments: input } }],
      }),
      streaming("stop", { content: "I cannot." }),
    );
    const events = await ask(modelAt(server), { tools: [temperature] });

    expect(server.requests[1]?.messages.at(-1)?.content).toMatch(
      /^the input of temperature is not JSON: [^]{10,2000}cut,/,
    );
    expect(JSON.stringify(ofType(events, "CompletionResult")[0]?.result).length).toBeLessThan(3_000);
  });

  test("gets no empty messages, which many providers refuse", async () => {
    await using server = await OpenAiServer.start(
      streaming("stop", { content: " \n" }),
      streaming("stop", { content: "Four." }),
    );
    const agent = llmAgent({ name: "clerk", purpose: "Answers.", instructions: "", model: modelAt(server) });
    const runtime = createRuntime({ agents: [agent] });
    const [first] = await collect(runtime, "clerk", { type: "ChatRequest", input: "one" });
    const run_id = first?.run_id ?? "";
    const events = await collect(runtime, "clerk", { type: "ChatRequest", input: "two", run_id });
    await runtime.close();
    expect(server.requests[1]?.messages).toEqual([
      { role: "user", content: "one" },
      { role: "user", content: "two" },
    ]);
    expect(events.at(-1)).toMatchObject({ result: "Four." });
  });

  test("gets no results for calls that its provider makes itself, and gets these calls back", async () => {
    const search = { toolCallId: "s", toolName: "temperature", providerExecuted: true };
    const prompts: unknown[] = [];
    const model = {
      specificationVersion: "v4" as const,
      provider: "far",
      modelId: "searcher",
      supportedUrls: {},
      async doStream({ prompt }: { readonly prompt: readonly unknown[] }) {
        prompts.push(...prompt.slice(2));
        return {
          stream: ReadableStream.from([
            { type: "stream-start", warnings: [] },
            { type: "tool-call", ...search, input: '{"city":"Oslo"}', dynamic: true },
            { type: "tool-result", ...search, result: { degrees: 4 }, dynamic: true },
            { type: "text-start", id: "t" },
            { type: "text-delta", id: "t", delta: "Four." },
            { type: "text-end", id: "t" },
            {
              type: "finish",
              finishReason: { unified: "stop" },
              usage: { inputTokens: {}, outputTokens: {} },
            },
          ]),
        };
      },
    };
    const agent = llmAgent({
      name: "clerk",
      purpose: "Answers.",
      instructions: "Be brief.",
      model: aiSdkModel(model),
      tools: [temperature],
    });
    const runtime = createRuntime({ agents: [agent] });
    const events = await collect(runtime, "clerk", { type: "ChatRequest", input: "one" });
    const run_id = events[0]?.run_id ?? "";
    await collect(runtime, "clerk", { type: "ChatRequest", input: "two", run_id });
    await runtime.close();
    const known = { function_name: "temperature", provider_executed: true };
    const [call, ...none] = ofType(events, "ToolCall");
    expect(none).toEqual([]);
    expect(call).toMatchObject({ ...known, args: { city: "Oslo" } });
    const { tool_call_id } = call ?? {};
    expect(ofType(events, "ToolResult")).toMatchObject([{ ...known, tool_call_id, result: { degrees: 4 } }]);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "Four." });
    expect(prompts).toMatchObject([
      {
        role: "assistant",
        content: [
          { type: "tool-call", toolCallId: "s", providerExecuted: true },
          { type: "tool-result", toolCallId: "s" },
          { type: "text", text: "Four." },
        ],
      },
      { role: "user" },
    ]);
  });

  test("gets its reasoning back if it needs that", async () => {
    await using server = await OpenAiServer.start(
      streaming(
        "tool_calls",
        { reasoning_content: "I look it up." },
        {
          tool_calls: [
            { index: 0, id: "a", function: { name: "temperature", arguments: '{"city":"Oslo"}' } },
          ],
        },
      ),
      streaming("stop", { content: "Four." }),
    );
    await ask(modelAt(server), { tools: [temperature] });
    expect(server.requests[1]?.messages.at(-2)).toMatchObject({
      role: "assistant",
      reasoning_content: "I look it up.",
      tool_calls: [{ id: "a" }],
    });
  });

  test("is asked again after its provider was busy, not before the requested delay", async () => {
    await using server = await OpenAiServer.start(
      failing(429, "slow down", { "retry-after-ms": "1" }),
      streaming("stop", { content: "Four." }),
    );
    const events = await ask(modelAt(server));
    expect(ofType(events, "CompletionCall").map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "Four." });
  });

  test.each([
    ["the connection is lost in mid-answer", dropping({ content: "Fo" })],
    ["the server has a fault", failing(503, "not now", { "retry-after": "0" })],
    ["the answer breaks off", breakingOff({ content: "Fo" })],
  ])("is asked again when %s, and only the last attempt counts", async (_, fault) => {
    await using server = await OpenAiServer.start(fault, streaming("stop", { content: "Four." }));
    const events = await ask(modelAt(server));
    expect(server.requests).toHaveLength(2);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "Four." });
  });

  test("ends the turn when its provider refuses", async () => {
    await using server = await OpenAiServer.start(failing(401, "the key is wrong"));
    const events = await ask(modelAt(server, { keyVariable: "SMALL_KEY" }));
    const message = "local.chat/small: the key is wrong (HTTP 401); check SMALL_KEY";
    expect(server.requests).toHaveLength(1);
    expect(ofType(events, "CompletionResult")).toMatchObject([
      { error: message, error_code: "model_denied" },
    ]);
    expect(events.at(-1)).toMatchObject({
      finish_reason: "error",
      error: { code: "model_denied", message },
    });
  });

  test.each([
    ["model_denied", failing(403, "not for you")],
    ["model_rejected", failing(400, "the temperature is too high")],
    ["model_rejected", failing(404, "no such model")],
    ["context_overflow", failing(400, "This model's maximum context length is 8192 tokens.")],
    ["context_overflow", failing(413, "too much")],
    ["model_refused", failing(400, "The response was filtered: content_filter")],
    ["model_refused", streaming("content_filter", { content: "Well" })],
  ])("ends the turn with the code %s, which its caller gets too", async (code, answer) => {
    await using server = await OpenAiServer.start(answer);
    const agent = llmAgent({ name: "clerk", purpose: "Answers.", instructions: "", model: modelAt(server) });
    const caller = defineAgent({
      name: "caller",
      purpose: "Calls the clerk.",
      chat: async (input, turn) => (await turn.call(agent, "chat", { input })).output,
    });
    const events = await chat(caller);
    expect(server.requests).toHaveLength(1);
    expect(ofType(events, "CompletionResult")).toMatchObject([{ error_code: code }]);
    expect(ofType(events, "ToolError")).toMatchObject([{ code }]);
    expect(events.at(-1)).toMatchObject({ finish_reason: "error", error: { code } });
  });

  test("that reaches its limit of tokens cannot give a value, and is not asked again for it", async () => {
    await using server = await OpenAiServer.start(streaming("length", { content: '{"degrees":' }));
    const events = await ask(modelAt(server), { output: z.object({ degrees: z.number() }) } as object);
    expect(server.requests).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({
      finish_reason: "error",
      error: { message: expect.stringContaining("reached its limit of tokens") as string },
    });
  });

  test("stops when the turn is canceled", async () => {
    const gone = Promise.withResolvers<void>();
    await using server = await OpenAiServer.start((response) => {
      response.on("close", gone.resolve);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "Well, " } }] })}\n\n`,
      );
    });
    const agent = llmAgent({ name: "clerk", purpose: "Answers.", instructions: "", model: modelAt(server) });
    const runtime = createRuntime({ agents: [agent] });
    const { requestId } = await runtime.process("clerk", { type: "ChatRequest", input: "Is it warm?" });
    const feed = await runtime.follow(await runtime.resolve(requestId), { after: 0 });
    for await (const { events } of feed.pages) {
      if (!events.some((event) => event.includes("Well, "))) continue;
      await runtime.process("clerk", { type: "CancelRequest", request_id: requestId });
    }
    await gone.promise;
    expect(await runtime.status(requestId)).toMatchObject({ status: "completed", finish_reason: "canceled" });
    await runtime.close();
  });

  test("answers in the form of a schema, which its provider gets", async () => {
    await using server = await OpenAiServer.start(streaming("stop", { content: '{"degrees":4}' }));
    const agent = llmAgent({
      name: "clerk",
      purpose: "Answers.",
      instructions: "Be brief.",
      model: modelAt(server),
      output: z.object({ degrees: z.number() }),
    });
    const runtime = createRuntime({ agents: [agent] });
    const events = await collect(runtime, "clerk", {
      type: "OperationRequest",
      operation: "answer",
      input: { input: "How warm is Oslo?" },
    });
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", output: { degrees: 4 } });
    expect(server.requests[0]).toMatchObject({ response_format: { type: "json_object" } });
    await runtime.close();
  });

  test("reports cached and reasoning tokens, which have prices of their own", async () => {
    await using server = await OpenAiServer.start((response) => {
      const usage = {
        prompt_tokens: 100,
        prompt_tokens_details: { cached_tokens: 80 },
        completion_tokens: 50,
        completion_tokens_details: { reasoning_tokens: 40 },
      };
      const chunk = { id: "1", object: "chat.completion.chunk", created: 1, model: "local" };
      const choices = [{ index: 0, delta: { content: "Four." }, finish_reason: "stop" }];
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`data: ${JSON.stringify({ ...chunk, choices, usage })}\n\ndata: [DONE]\n\n`);
    });
    const price = { input: 10_000, cachedInput: 1_000, output: 100_000, reasoning: 50_000 };
    const usage = {
      input_tokens: 100,
      cached_input_tokens: 80,
      output_tokens: 50,
      reasoning_tokens: 40,
      cost: 3.28,
    };
    const events = await ask(modelAt(server, { price }));
    expect(theOne(events, "CompletionResult").usage).toEqual(usage);
    expect(theOne(events, "RequestCompleted").usage).toEqual(usage);
  });

  test("is given to an agent as its provider makes it", async () => {
    await using server = await OpenAiServer.start(streaming("stop", { content: "Four." }));
    const provider = createOpenAICompatible({ name: "local", baseURL: server.url });
    const model = provider("small");
    const events = await chat(llmAgent({ name: "clerk", purpose: "Answers.", instructions: "", model }));
    expect(ofType(events, "CompletionResult")).toMatchObject([{ model: "local.chat/small" }]);
    expect(events.at(-1)).toMatchObject({ result: "Four." });
  });

  test("accepts a plain text from any agent", async () => {
    await using server = await OpenAiServer.start(streaming("stop", { content: "Fire." }));
    const model = modelAt(server);
    const agent = defineAgent({
      name: "translator",
      purpose: "Translates.",
      async chat(input, turn) {
        await turn.complete({ model, input: `In French: ${input}` });
      },
    });
    const runtime = createRuntime({ agents: [agent] });
    const events = await collect(runtime, "translator", { type: "ChatRequest", input: "feu" });
    expect(server.requests[0]?.messages).toMatchObject([{ role: "user", content: "In French: feu" }]);
    expect(events.at(-1)).toMatchObject({ result: "Fire." });
    await runtime.close();
  });
});

describe("the model in the environment", () => {
  const otherwise = scriptedModel(["I am only a script."]);

  test("is asked with its name and its key", async () => {
    await using server = await OpenAiServer.start(streaming("stop", { content: "I am alive." }));
    const model = modelFromEnv(
      { TROUPE_MODEL_URL: server.url, TROUPE_MODEL: "tiny", TROUPE_MODEL_KEY: "k", OPENAI_API_KEY: "other" },
      otherwise,
    );
    const events = await ask(model);
    expect(server.requests).toMatchObject([{ model: "tiny" }]);
    expect(server.keys).toEqual(["Bearer k"]);
    expect(ofType(events, "CompletionResult")).toMatchObject([
      { model: "tiny", usage: { output_tokens: 4 } },
    ]);
    expect(events.at(-1)).toMatchObject({ result: "I am alive." });
  });

  test("is OpenAI's if there is only a key for it", () => {
    expect(modelFromEnv({ OPENAI_API_KEY: "k", TROUPE_MODEL: "gpt" }, otherwise).name).toBe("gpt");
  });

  test("says to the operator which address it asked, and not to clients", async () => {
    await using server = await OpenAiServer.start((response) => {
      const { host = "" } = response.req.headers;
      failing(404, `${host} has no /v2, see http://${host}/docs`)(response);
    });
    const url = server.url.replace("/v1", "/v2");
    const { events, log } = await askLogged(modelFromEnv({ TROUPE_MODEL_URL: url }, otherwise));
    expect(events.at(-1)).toMatchObject({
      error: { message: "default: its server has no /v2, see its server (HTTP 404)" },
    });
    expect(JSON.stringify(events)).not.toContain(new URL(url).port);
    expect(log).toContain(`${url}/chat/completions`);
  });

  test("does not tell clients the address of a server that cannot be reached", async () => {
    const { url } = await (async () => {
      await using server = await OpenAiServer.start();
      return server;
    })();
    const { events, log } = await askLogged(modelFromEnv({ TROUPE_MODEL_URL: url }, otherwise));
    expect(events.at(-1)).toMatchObject({
      error: { message: "default: the connection to its server failed (ECONNREFUSED)" },
    });
    expect(JSON.stringify(events)).not.toContain("127.0.0.1");
    expect(log).toContain(`${url}/chat/completions`);
  });

  test("is that of the process without arguments, and names the variables that it looked for", () => {
    vi.stubEnv("OPENAI_API_KEY", "k");
    vi.stubEnv("TROUPE_MODEL", "gpt");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(modelFromEnv().name).toBe("gpt");
    vi.stubEnv("OPENAI_API_KEY", "");
    vi.stubEnv("TROUPE_MODEL", "");
    expect(() => modelFromEnv()).toThrow(
      expect.objectContaining({
        code: "invalid_request",
        message: "no variable names a model: neither TROUPE_MODEL_URL nor OPENAI_API_KEY is set",
      }) as Error,
    );
    expect(modelFromEnv(undefined, otherwise)).toBe(otherwise);
    expect(() => modelFromEnv({})).toThrow("no variable names a model");
  });

  test.each([
    [
      { TROUPE_MODEL_NAME: "tiny" },
      "TROUPE_MODEL_NAME is unknown; the variables of a model are TROUPE_MODEL_URL, ",
    ],
    [{ TROUPE_MODLE_URL: "http://x/v1" }, "TROUPE_MODLE_URL is unknown; "],
    [{ OPENAI_APIKEY: "k" }, "OPENAI_APIKEY is unknown; "],
    [{ TROUP_MODEL_URL: "http://x/v1" }, "TROUP_MODEL_URL is unknown; "],
    [{ TRUOPE_MODEL: "tiny" }, "TRUOPE_MODEL is unknown; "],
    [{ TROUPE_NODEL_KEY: "k", TROUPE_MODEL_URL: "http://x/v1" }, "TROUPE_NODEL_KEY is unknown; "],
    [{ troupe_model_url: "http://x/v1" }, "troupe_model_url is unknown; "],
    [{ OPENAPI_API_KEY: "k" }, "OPENAPI_API_KEY is unknown; "],
    [{ OPEN_AI_API_KEY: "k" }, "OPEN_AI_API_KEY is unknown; "],
    [{ TROUPE_MODEL: "tiny" }, "TROUPE_MODEL is set, but neither TROUPE_MODEL_URL nor OPENAI_API_KEY"],
    [{ TROUPE_MODEL_KEY: "k" }, "TROUPE_MODEL_KEY is set, but TROUPE_MODEL_URL is not"],
    [{ TROUPE_MODEL_KEY: "k", OPENAI_API_KEY: "k" }, "TROUPE_MODEL_KEY is set, but TROUPE_MODEL_URL is not"],
    [{ TROUPE_MODEL_URL: "localhost:8080/v1" }, "TROUPE_MODEL_URL must be an http or https URL without user"],
    [
      { TROUPE_MODEL_URL: "http://user:password@x/v1" },
      "TROUPE_MODEL_URL must be an http or https URL without user",
    ],
    [{ TROUPE_MODEL_URL: "http://x/v1", TROUPE_MODEL_IMAGES: "false" }, "TROUPE_MODEL_IMAGES is yes or no"],
  ])("is an error when %j does not name one", (variables: Record<string, string>, message) => {
    expect(() => modelFromEnv(variables, otherwise)).toThrow(message);
  });

  test("is the other one when it names none", () => {
    expect(modelFromEnv({ TROUPE_TOKEN: "t", PATH: "/bin" } as ModelVariables, otherwise)).toBe(otherwise);
    expect(modelFromEnv({ TROUPE_MODEL_URL: "", OPENAI_API_KEY: "" }, otherwise)).toBe(otherwise);
    const others = {
      TROUPE_TOKEN: "t",
      OPENAI_API_BASE: "b",
      AZURE_OPENAI_API_KEY: "k",
      TROUPE_SIMULATION_SEEDS: "1",
    };
    expect(modelFromEnv(others as ModelVariables, otherwise)).toBe(otherwise);
    const second = { OPENAI_API_KEY: "k", OPENAI_API_KEY_2: "l", TROUPE_MODEL: "gpt" };
    expect(modelFromEnv(second, otherwise).name).toBe("gpt");
  });
});
