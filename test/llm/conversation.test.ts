import type { Model } from "troupe";
import { createRuntime, defineTool, memoryLog, ModelError } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import type { LlmAgentOptions, Prompt } from "troupe/llm";
import type { Event, RunId } from "troupe/protocol";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { requestOf, textsOf, theOne } from "../agents/events.ts";
import { saying, specifiedModel } from "./models/specified-model.ts";

/** Requests for a summary have their own instructions. */
function isSummary({ instructions }: Prompt): boolean {
  return typeof instructions === "string" && instructions.startsWith("Summarize");
}

/** Sends texts to one run, one after the other. */
async function talk(
  options: Partial<LlmAgentOptions> & Pick<LlmAgentOptions, "model">,
  inputs: readonly string[],
): Promise<readonly (readonly Event[])[]> {
  const agent = llmAgent({ name: "clerk", purpose: "Answers.", instructions: "Be brief.", ...options });
  const runtime = createRuntime({ agents: [agent] });
  const turns: (readonly Event[])[] = [];
  let runId: RunId | undefined;
  for (const input of inputs) {
    const events = await collect(runtime, "clerk", {
      type: "ChatRequest",
      input,
      ...(runId !== undefined && { run_id: runId }),
    });
    runId = events[0]?.run_id;
    turns.push(events);
  }
  await runtime.close();
  return turns;
}

test("an agent continues the conversation of the run", async () => {
  const prompts: Prompt[] = [];
  const model = scriptedModel((prompt) => {
    prompts.push(prompt);
    return `Answer ${prompts.length}.`;
  });
  await talk({ model }, ["one", "two"]);
  expect(prompts[1]?.messages).toEqual([
    { role: "user", content: "one" },
    { role: "assistant", content: "Answer 1." },
    { role: "user", content: "two" },
  ]);
});

test("what the client says was said before stands before the history of a new run, and only of the asked agent", async () => {
  const prompts: (readonly unknown[])[] = [];
  const model = scriptedModel(({ messages }) => {
    prompts.push(messages);
    return prompts.length === 1 ? { toolCalls: [{ name: "helper", input: { input: "help" } }] } : "Well.";
  });
  const helper = llmAgent({ name: "helper", purpose: "Helps.", instructions: "Help.", model });
  const agent = llmAgent({
    name: "clerk",
    purpose: "Answers.",
    instructions: "Be brief.",
    model,
    agents: [helper],
  });
  const runtime = createRuntime({ agents: [agent] });
  const messages = [
    { role: "assistant", content: "I begin." },
    { role: "system", content: "Be kind." },
    { role: "user", content: "one" },
    { role: "assistant", content: "1" },
    { role: "tool", content: "x" },
    { role: "user", content: 7 },
    "text",
    null,
  ];
  const request_metadata = { messages };
  const ask = async (input: string, more = {}): Promise<readonly Event[]> =>
    collect(runtime, "clerk", { type: "ChatRequest", input, request_metadata, ...more });
  const [started] = await ask("two");
  await ask("three", { run_id: started?.run_id });
  await runtime.close();
  const before = [
    { role: "user", content: "Instructions of the caller:\nBe kind." },
    { role: "user", content: "one" },
    { role: "assistant", content: "1" },
    { role: "user", content: "two" },
  ];
  expect(prompts[0]).toEqual(before);
  expect(prompts[1]).toEqual([{ role: "user", content: "help" }]);
  expect(prompts.at(-1)?.slice(0, 4)).toEqual(before);
  expect(prompts.at(-1)?.at(-1)).toEqual({ role: "user", content: "three" });
  expect(prompts.at(-1)?.filter((message) => JSON.stringify(message).includes("Be kind"))).toHaveLength(1);
});

test("a failed turn is not remembered", async () => {
  let last: Prompt | undefined;
  const model = scriptedModel((prompt) => {
    last = prompt;
    if (prompt.messages.at(-1)?.content === "fail") return { toolCalls: [{ name: "none", input: {} }] };
    return prompt.messages.at(-1)?.role === "tool" ? { toolCalls: [{ name: "none", input: {} }] } : "Well.";
  });
  const turns = await talk({ model, maxSteps: 2 }, ["one", "fail", "two"]);
  expect(turns.map((events) => events.at(-1))).toMatchObject([
    { finish_reason: "success" },
    { finish_reason: "error" },
    { finish_reason: "success" },
  ]);
  expect(last?.messages.map(({ content }) => content)).toEqual(["one", "Well.", "two"]);
});

test("above its budget the older part of a conversation becomes a summary, which is not part of an answer", async () => {
  const summarized: string[] = [];
  let prompt: Prompt | undefined;
  const model = scriptedModel((asked) => {
    if (!isSummary(asked)) {
      prompt = asked;
      return `I have heard ${asked.messages.at(-1)?.content.slice(0, 6)}.`;
    }
    summarized.push(asked.messages[0]?.content ?? "");
    return `Summary ${summarized.length}.`;
  });
  const inputs = [1, 2, 3, 4, 5, 6, 7].map((number) => `text ${number} ${"-".repeat(300)}`);
  const turns = await talk({ model, historyTokens: 375 }, inputs);

  expect(turns.map((events) => textsOf(events).join(""))).toEqual(
    [1, 2, 3, 4, 5, 6, 7].map((number) => `I have heard text ${number}.`),
  );
  expect(summarized[0]).toMatch(/^User: text 1 -+\nAssistant: I have heard text 1\.\nUser: text 2 -+\n/);
  expect(summarized[1]).toMatch(/^Before that, in short: Summary 1\.\nUser: text/);
  expect(prompt?.instructions).toBe("Be brief.");
  expect(prompt?.messages[0]).toEqual({
    role: "user",
    content: `Summary of the earlier conversation:\nSummary ${summarized.length}.`,
  });
  expect(prompt?.messages.at(-1)?.content).toBe(inputs.at(-1));
  expect(JSON.stringify(prompt?.messages).length).toBeLessThan(1_700);
  const summary = turns.flat().find(({ type }) => type === "ReasoningOutput");
  expect(summary).toMatchObject({ content: "Summary " });
});

test("when the model gives no summary, the beginning of the older part is kept", async () => {
  let prompt: Prompt | undefined;
  const model = scriptedModel((asked) => {
    if (isSummary(asked)) return "";
    prompt = asked;
    return "Yes.";
  });
  const inputs = ["My name is Ada.", "a".repeat(1_000), "b".repeat(1_000), "c".repeat(1_000)];
  await talk({ model, historyTokens: 375 }, inputs);
  expect(prompt?.messages[0]?.content).toMatch(/^Summary of .*\n.*User: My name is Ada\.\n/);
  expect(JSON.stringify(prompt?.messages).length).toBeLessThan(1_700);
});

test("a turn with many long results stays within the budget and keeps its question and newest results", async () => {
  const read = defineTool({
    name: "read",
    description: "Reads a page.",
    input: z.object({ page: z.number() }),
    effect: "idempotent",
    run: ({ page }) => `page ${page} ${"x".repeat(5_000)}`,
  });
  const prompts: Prompt[] = [];
  const model = scriptedModel((prompt) => {
    if (isSummary(prompt)) return "Some pages were read.";
    prompts.push(prompt);
    if (prompts.length > 12) return "That is all.";
    return { toolCalls: [{ name: "read", input: { page: prompts.length } }] };
  });
  const [events = []] = await talk({ model, tools: [read], historyTokens: 1_000 }, [
    "What do the pages say?",
  ]);

  expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "That is all." });
  const last = prompts.at(-1)?.messages ?? [];
  expect(last.slice(0, 2).map(({ content }) => content)).toEqual([
    "Summary of the earlier conversation:\nSome pages were read.",
    "What do the pages say?",
  ]);
  expect(last.at(-1)).toMatchObject({
    role: "tool",
    content: expect.stringMatching(/^page 12 x+.*cut/) as string,
  });
  for (const { messages } of prompts) expect(JSON.stringify(messages).length).toBeLessThan(5_500);
  for (const { messages } of prompts) {
    const calls = messages.flatMap((message) =>
      message.role === "assistant" ? (message.toolCalls ?? []) : [],
    );
    const results = messages.filter(({ role }) => role === "tool");
    expect(results.map((result) => "callId" in result && result.callId)).toEqual(calls.map(({ id }) => id));
  }
});

test("a summary is in the log: a turn continued by another process does not request it again", async () => {
  const asked: string[] = [];
  const model = scriptedModel((prompt) => {
    asked.push(isSummary(prompt) ? "summary" : "answer");
    if (isSummary(prompt)) return "Short.";
    if (prompt.messages.at(-1)?.role === "tool") return "Sent.";
    if (prompt.messages.length > 1) return { toolCalls: [{ name: "send", input: {} }] };
    return { text: "y".repeat(1_100) };
  });
  const send = defineTool({ name: "send", description: "Sends.", input: z.object({}), run: () => "sent" });
  const options = { name: "clerk", purpose: "Answers.", instructions: "", historyTokens: 250 };
  const agent = llmAgent({ ...options, model, tools: [send], approve: ["send"] });
  const log = { ...memoryLog(), close: async () => {} };

  const before = createRuntime({ agents: [agent], log });
  const first = await collect(before, "clerk", { type: "ChatRequest", input: "one" });
  const run_id = theOne(first, "RequestStarted").run_id;
  const second = await collect(before, "clerk", { type: "ChatRequest", input: "two", run_id });
  await before.close();

  const after = createRuntime({ agents: [agent], log });
  const rest = await collect(after, "clerk", {
    type: "ResumeWithInput",
    request_id: requestOf(second),
    request_keys: { approved: true },
  });
  expect(asked).toEqual(["answer", "summary", "answer", "answer"]);
  expect(rest.at(-1)).toMatchObject({ finish_reason: "success", result: "Sent." });
  await after.close();
});

test.each([0, -1, Number.NaN])("a budget of %d tokens is refused", (historyTokens) => {
  const options = { name: "clerk", purpose: "Answers.", instructions: "", historyTokens };
  expect(() => llmAgent({ ...options, model: scriptedModel([]) })).toThrow(
    "historyTokens must be at least 1",
  );
});

test.each([
  ["short: later", 40, 0],
  ["as long as usual: when it is full", 4, 1],
  ["long: earlier", 1, 7],
])(
  "a model that counts its tokens as %s is asked for so many summaries",
  async (_, bytesPerToken, summaries) => {
    let asked = 0;
    const model: Model = {
      name: "counting",
      async *generate(input) {
        const prompt = input as unknown as Prompt;
        if (isSummary(prompt)) asked += 1;
        const promptTokens = Math.round(JSON.stringify(prompt).length / bytesPerToken);
        yield { type: "result", result: { text: "Yes.", toolCalls: [], promptTokens }, usage: {} };
      },
    };
    const inputs = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => `text ${number} ${"-".repeat(300)}`);
    await talk({ model, historyTokens: 500 }, inputs);
    expect(asked).toBe(summaries);
  },
);

test("what a provider reports as the tokens of a prompt is in the result of a completion", async () => {
  const [events = []] = await talk({ model: specifiedModel("v4", saying("Yes.")) }, ["one"]);
  expect(theOne(events, "CompletionResult").result).toMatchObject({ promptTokens: 100 });
});

test("a conversation that the model finds too long is summarized, and the model is asked once more", async () => {
  const sizes: number[] = [];
  const model = scriptedModel((prompt) => {
    const size = JSON.stringify(prompt.messages).length;
    if (isSummary(prompt)) return "They counted.";
    sizes.push(size);
    if (size > 3_000) return { error: new ModelError("too many tokens", { code: "context_overflow" }) };
    return "One. ".repeat(200);
  });
  const turns = await talk({ model }, ["one", "two", "three", "four"]);
  expect(turns.map((events) => theOne(events, "RequestCompleted").finish_reason)).toEqual([
    "success",
    "success",
    "success",
    "success",
  ]);
  expect(sizes.filter((size) => size > 3_000)).toHaveLength(1);

  const tooLong = scriptedModel(() => ({ error: new ModelError("too long", { code: "context_overflow" }) }));
  const [events = []] = await talk({ model: tooLong }, ["one"]);
  expect(events.at(-1)).toMatchObject({ error: { code: "context_overflow", message: "too long" } });
});
