import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createXai } from "@ai-sdk/xai";
import { createRuntime } from "troupe";
import type { LanguageModel, PriceTable } from "troupe";
import { aiSdkModel, llmAgent } from "troupe/llm";
import type { AiSdkModelOptions } from "troupe/llm";
import { collect } from "troupe/testing";
import { afterAll, expect, test } from "vitest";
import { theOne } from "../../agents/events.ts";
import { providerServer } from "./provider-server.ts";
import type { Answer } from "./provider-server.ts";
import { anthropic, google, openAiChat, openAiResponses, xai } from "./recorded.ts";

const server = await providerServer();
afterAll(() => server[Symbol.asyncDispose]());
const at = { baseURL: server.url, apiKey: "a-key" };

const models = {
  chat: createOpenAI(at).chat("gpt-5-mini"),
  responses: createOpenAI(at).responses("gpt-5-mini"),
  sonnet: createAnthropic(at)("claude-sonnet-4-5"),
  gemini: createGoogleGenerativeAI(at)("gemini-2.5-pro"),
  grok: createXai(at)("grok-4.6"),
};

/** What an agent with a model reports of a turn, after these answers of its provider. */
async function billOf(
  model: LanguageModel,
  answers: readonly Answer[],
  prices?: PriceTable,
  options?: AiSdkModelOptions,
) {
  server.answer(...answers);
  const runtime = createRuntime({
    agents: [
      llmAgent({
        name: "clerk",
        purpose: "Pays.",
        instructions: "Be brief.",
        model: aiSdkModel(model, options),
        retry: { minMs: 1, maxMs: 1 },
      }),
    ],
    ...(prices && { prices }),
  });
  const events = await collect(runtime, "clerk", { type: "ChatRequest", input: "Pay it." });
  await runtime.close();
  expect(server.left).toBe(0);
  const { usage, result } = theOne(events, "CompletionResult");
  expect(result).toMatchObject({ text: "Paid." });
  return usage;
}

const claude = {
  input_tokens: 2_000,
  cache_read_input_tokens: 50_000,
  cache_creation_input_tokens: 10_000,
  cache_creation: { ephemeral_5m_input_tokens: 6_000, ephemeral_1h_input_tokens: 4_000 },
};

/** 2,000 at $3, 50,000 at $0.30, 6,000 at $3.75 for five minutes, 4,000 at $6 for an hour. */
const CLAUDE_READ = 0.006 + 0.015 + 0.0225 + 0.024;

const gemini = { promptTokenCount: 250_000, cachedContentTokenCount: 100_000, thoughtsTokenCount: 3_000 };

/** Each by hand from the price list of its provider, in dollars of a million tokens. */
test.each([
  [
    "OpenAI, chat: 3,808 at $0.25, 8,192 from the cache at $0.025, 1,500 at $2 with the reasoning",
    models.chat,
    [
      openAiChat({
        prompt_tokens: 12_000,
        completion_tokens: 1_500,
        total_tokens: 13_500,
        prompt_tokens_details: { cached_tokens: 8_192, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 1_024, audio_tokens: 0 },
      }),
    ],
    0.000_952 + 0.000_204_8 + 0.003,
  ],
  [
    "OpenAI, responses: the same",
    models.responses,
    [
      openAiResponses({
        input_tokens: 12_000,
        input_tokens_details: { cached_tokens: 8_192 },
        output_tokens: 1_500,
        output_tokens_details: { reasoning_tokens: 1_024 },
        total_tokens: 13_500,
      }),
    ],
    0.000_952 + 0.000_204_8 + 0.003,
  ],
  [
    "Anthropic: read from the cache, put there for five minutes and for an hour, 700 at $15",
    models.sonnet,
    [anthropic(claude, { first: 3, last: 700 })],
    CLAUDE_READ + 0.0105,
  ],
  [
    "Anthropic, broken off: what it has read counts twice",
    models.sonnet,
    [anthropic(claude, { first: 3, last: 700, breaks: true }), anthropic(claude, { first: 3, last: 700 })],
    CLAUDE_READ + 0.000_045 + CLAUDE_READ + 0.0105,
  ],
  [
    "Anthropic, with searches: $10 for a thousand",
    models.sonnet,
    [anthropic({ ...claude, server_tool_use: { web_search_requests: 3 } }, { first: 3, last: 700 })],
    CLAUDE_READ + 0.0105 + 0.03,
  ],
  [
    "Google, above 200,000: 150,000 at $2.50, 100,000 from the cache at $0.25, 4,000 at $15 with the thoughts",
    models.gemini,
    [
      google([
        { ...gemini, candidatesTokenCount: 10, totalTokenCount: 253_010 },
        { ...gemini, candidatesTokenCount: 1_000, totalTokenCount: 254_000 },
      ]),
    ],
    0.375 + 0.025 + 0.06,
  ],
  [
    "Google, up to 200,000: 100,000 at $1.25, 100,000 from the cache at $0.125, 4,000 at $10",
    models.gemini,
    [
      google([
        { ...gemini, promptTokenCount: 200_000, candidatesTokenCount: 1_000 },
        { ...gemini, promptTokenCount: 200_000, candidatesTokenCount: 1_000 },
      ]),
    ],
    0.125 + 0.0125 + 0.04,
  ],
  [
    "Google, broken off: what it has said until then counts",
    models.gemini,
    [
      google([{ ...gemini, candidatesTokenCount: 400 }], true),
      google([
        { ...gemini, candidatesTokenCount: 10 },
        { ...gemini, candidatesTokenCount: 1_000 },
      ]),
    ],
    0.375 + 0.025 + 0.051 + 0.375 + 0.025 + 0.06,
  ],
  [
    "xAI: 4,000 at $2, 1,000 from the cache at $0.50, 300 and 700 of reasoning beside them at $6",
    models.grok,
    [
      xai({
        prompt_tokens: 5_000,
        completion_tokens: 300,
        total_tokens: 6_000,
        prompt_tokens_details: { text_tokens: 5_000, audio_tokens: 0, image_tokens: 0, cached_tokens: 1_000 },
        completion_tokens_details: { reasoning_tokens: 700, audio_tokens: 0 },
      }),
    ],
    0.008 + 0.0005 + 0.006,
  ],
] as const)("the bill of %s", async (_, model, answers, cost) => {
  const usage = await billOf(model, answers);
  expect(Math.abs((usage.cost ?? 0) - cost) / cost).toBeLessThan(0.01);
  expect(usage.interrupted_attempts ?? 0).toBe(answers.length - 1);
});

const clerk = llmAgent({ name: "clerk", purpose: "Pays.", instructions: "Pay.", model: models.chat });

const plain = { prompt_tokens: 1_000_000, completion_tokens: 1_000_000, total_tokens: 2_000_000 };

test("the cost of an unknown model is unknown, and the tokens are counted", async () => {
  const model = createOpenAI(at).chat("gpt-17-imagined");
  expect(await billOf(model, [openAiChat(plain)])).toEqual({
    input_tokens: 1_000_000,
    cached_input_tokens: 0,
    output_tokens: 1_000_000,
    reasoning_tokens: 0,
  });
});

test("own prices come first: by provider and model, by a pattern, or by the name in events", async () => {
  const price = { input: 1, output: 10 };
  for (const prices of [
    { "openai/gpt-5-mini": price },
    { "openai/five": { ...price, match: "^gpt-5" } },
    { "openai.chat/gpt-5-mini": price },
  ])
    expect(await billOf(models.chat, [openAiChat(plain)], prices)).toMatchObject({ cost: 11 });
});

test("the cost of another service level is unknown, or has its own price", async () => {
  const used = { input_tokens: 1_000_000, output_tokens: 1_000_000, total_tokens: 2_000_000 };
  const flex = openAiResponses(used, { service_tier: "flex" });
  expect(await billOf(models.responses, [flex])).not.toHaveProperty("cost");
  const asked = { settings: { providerOptions: { openai: { serviceTier: "flex" } } } };
  expect(await billOf(models.chat, [openAiChat(plain)], undefined, asked)).not.toHaveProperty("cost");
  const price = { input: 1, output: 10, services: { flex: { input: 0.5, output: 5 } } };
  expect(await billOf(models.responses, [flex], { "openai/gpt-5-mini": price })).toMatchObject({ cost: 5.5 });
});

test.each([
  [{ "openai/x": { input: 1 } }, "the price of openai/x has no output, the price of a million tokens"],
  [{ "openai/x": { input: -1, output: 1 } }, "input in the price of openai/x is not a number of 0 or more"],
  [
    { "openai/x": { input: 1, output: 1, match: "(" } },
    "match in the price of openai/x is no regular expression",
  ],
  [{ "openai/x": { input: 1, output: 1, ouput: 1 } }, "ouput in the price of openai/x is unknown"],
  [{ "openai/x": { input: 1, output: 1, longer: [{ input: 1 }] } }, "has no above"],
])("prices that are none are refused: %j", (prices, message) => {
  expect(() => createRuntime({ agents: [clerk], prices: prices as unknown as PriceTable })).toThrow(message);
});
