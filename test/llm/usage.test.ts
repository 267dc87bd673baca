import { createRuntime, defineAgent, ModelError } from "troupe";
import type { Model } from "troupe";
import { createMetrics } from "troupe/http";
import { aiSdkModel, llmAgent } from "troupe/llm";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { ofType, theOne } from "../agents/events.ts";
import { asked, chat as asking, TestHost } from "../runtime/test-host.ts";
import { chat } from "./chat.ts";
import { ending, specifiedModel } from "./models/specified-model.ts";

const plain = { name: "clerk", purpose: "Answers.", instructions: "Be brief." };

const answer = {
  type: "result",
  result: { text: "Four.", toolCalls: [] },
  usage: { input_tokens: 10, output_tokens: 2, cost: 1 },
} as const;

/** A model whose attempts fail in different ways before one answers. */
const troubled: Model = {
  name: "troubled",
  async *generate(_input, { attempt }) {
    if (attempt === 1) throw new ModelError("not reached", { code: "model_unavailable" });
    yield { type: "text", text: "Fo" };
    if (attempt === 2) throw new ModelError("the connection broke", { code: "model_unavailable" });
    if (attempt === 3) {
      const usage = { input_tokens: 10, output_tokens: 1, cost: 0.5 };
      throw new ModelError("overloaded", { code: "model_unavailable", usage });
    }
    yield answer;
  },
};

test.each([
  [
    "in groups",
    specifiedModel("v3", [
      {
        type: "finish",
        finishReason: { unified: "stop" },
        usage: {
          inputTokens: { total: 100, noCache: 20, cacheRead: 70, cacheWrite: 10 },
          outputTokens: { total: 5, text: 5 },
        },
      },
    ]),
  ],
  [
    "as numbers, of which that of the input is without the cache",
    {
      ...specifiedModel("v2", [
        {
          type: "finish",
          finishReason: "stop",
          usage: { inputTokens: 20, cachedInputTokens: 70, outputTokens: 5 },
          providerMetadata: { anthropic: { cacheCreationInputTokens: 10 } },
        },
      ]),
      provider: "anthropic.messages",
    },
  ],
])("what is read from a cache and put into it has a price of its own, reported %s", async (_, model) => {
  const price = { input: 3_000_000, cachedInput: 300_000, cacheWrite: 4_000_000, output: 15_000_000 };
  const events = await chat(llmAgent({ ...plain, model: aiSdkModel(model, { price }) }));
  expect(theOne(events, "CompletionResult").usage).toEqual({
    input_tokens: 100,
    cached_input_tokens: 70,
    output_tokens: 5,
    cost: 20 * 3 + 70 * 0.3 + 10 * 4 + 5 * 15,
  });
});

test("attempts that failed count: what their provider reports, or that they broke off", async () => {
  const metrics = createMetrics();
  const agent = llmAgent({ ...plain, model: troubled, retry: { minMs: 1, maxMs: 1 } });
  const runtime = createRuntime({ agents: [agent], telemetry: metrics });
  const events = await collect(runtime, "clerk", { type: "ChatRequest", input: "2 + 2?" });
  await runtime.close();
  const usage = { input_tokens: 20, output_tokens: 3, cost: 1.5, interrupted_attempts: 1 };
  expect(ofType(events, "CompletionRetry").map((event) => event.usage)).toEqual([
    undefined,
    { interrupted_attempts: 1 },
    { input_tokens: 10, output_tokens: 1, cost: 0.5 },
  ]);
  expect(theOne(events, "CompletionResult").usage).toEqual(usage);
  expect(theOne(events, "RequestCompleted").usage).toEqual(usage);
  const scrape = await metrics.text();
  expect(scrape).toContain('troupe_model_tokens_total{agent="clerk",model="troubled",kind="input"} 20');
  expect(scrape).toContain('troupe_model_cost_total{agent="clerk",model="troubled"} 1.5');
  expect(scrape).toContain('troupe_model_interrupted_attempts_total{model="troubled"} 1');
});

test("an attempt that a crash interrupted counts, and one that failed before it is not forgotten", async () => {
  let attempts = 0;
  const model: Model = {
    name: "mortal",
    async *generate(input, context) {
      attempts += 1;
      if (attempts === 1) yield* troubled.generate(input, { ...context, attempt: 3 });
      if (attempts < 3) {
        host.crash();
        await new Promise(() => {});
      }
      yield answer;
    },
  };
  const agent = llmAgent({ ...plain, model, retry: { minMs: 1, maxMs: 1 } });
  const host: TestHost = new TestHost({ agents: [agent] });
  await host.ask("clerk", asking);
  await host.environment.advance(1_000);
  await host.restartUntilContinued(asked);
  const events = await host.events(asked);
  expect(attempts).toBe(3);
  expect(theOne(events, "RequestCompleted")).toMatchObject({
    finish_reason: "success",
    usage: { input_tokens: 20, output_tokens: 3, cost: 1.5, interrupted_attempts: 1 },
  });
});

test("an answer that a content filter blocked counts, and a completion that was canceled", async () => {
  const blocked = specifiedModel("v4", [ending("v4", "content-filter")]);
  const events = await chat(llmAgent({ ...plain, model: blocked }));
  expect(theOne(events, "RequestCompleted").usage).toMatchObject({ input_tokens: 100, output_tokens: 50 });

  const slow: Model = {
    name: "slow",
    async *generate() {
      yield { type: "text", text: "Well, " };
      await new Promise(() => {});
    },
  };
  const impatient = defineAgent({
    name: "impatient",
    purpose: "Waits for a moment.",
    async chat(_input, turn) {
      await turn.complete({ model: slow, input: "2 + 2?", timeoutMs: 5_000 }).catch(() => {});
      return "never mind";
    },
  });
  const host = new TestHost({ agents: [impatient, llmAgent({ ...plain, model: slow })] });
  await host.ask("impatient", asking);
  await host.environment.advance(10_000);
  const ended = theOne(await host.events(asked), "RequestCompleted");
  expect(ended).toMatchObject({ result: "never mind", usage: { interrupted_attempts: 1 } });

  await host.ask("clerk", { ...asking, request_id: "other" });
  await host.ask("clerk", { type: "CancelRequest", request_id: "other" });
  expect(theOne(await host.events("other"), "RequestCompleted")).toMatchObject({
    finish_reason: "canceled",
    usage: { interrupted_attempts: 1 },
  });
});
