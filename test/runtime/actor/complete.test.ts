import { createRuntime, defineAgent, memoryLog, ModelError } from "troupe";
import type { Model, ModelRetryOptions, Runtime } from "troupe";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { asked, chat, TestHost } from "../test-host.ts";

/** A model that streams a text word by word; each call can first fail as the list says. */
function talker(failures: (ModelError | undefined)[] = []): Model & { readonly asked: number[] } {
  const asked: number[] = [];
  return {
    asked,
    name: "talker",
    async *generate(input, { attempt }) {
      asked.push(attempt);
      yield { type: "reasoning", text: "hm" };
      for (const word of ["Good ", "day ", input as string]) yield { type: "text", text: word };
      const failure = failures.shift();
      if (failure) throw failure;
      yield { type: "result", result: { said: 3 }, usage: { input_tokens: 10, output_tokens: 3 } };
    },
  };
}

function talk(model: Model, retry: ModelRetryOptions = {}): Parameters<typeof createRuntime>[0]["agents"] {
  return [
    defineAgent({
      name: "talk",
      purpose: "Lets a model talk, twice.",
      async chat(input, turn) {
        await turn.complete({ model, input, retry });
        await turn.waitForInput({ more: "More?" });
        await turn.complete({ model, input: "again" });
      },
    }),
  ];
}

const answer = { type: "ResumeWithInput", request_keys: { more: true } } as const;

async function requestOf(runtime: Runtime): Promise<{ readonly first: Awaited<ReturnType<typeof collect>> }> {
  return { first: await collect(runtime, "talk", { type: "ChatRequest", input: "sir" }) };
}

test("a model's text and reasoning are streamed, and its usage is summed", async () => {
  const runtime = createRuntime({ agents: talk(talker()) });
  const { first } = await requestOf(runtime);
  const requestId = first[0]?.request_id;
  const rest = await collect(runtime, "talk", { ...answer, ...(requestId && { request_id: requestId }) });

  expect(first.map(({ type }) => type)).toEqual([
    "RequestStarted",
    "CompletionCall",
    "ReasoningOutput",
    "TextOutput",
    "TextOutput",
    "TextOutput",
    "CompletionResult",
    "WaitForInput",
  ]);
  expect(rest.at(-1)).toMatchObject({
    result: "Good day sirGood day again",
    usage: { input_tokens: 20, output_tokens: 6 },
  });
  await runtime.close();
});

test("a completion in the log is not requested again after a restart", async () => {
  const model = talker();
  const log = { ...memoryLog(), close: async () => {} };
  const before = createRuntime({ agents: talk(model), log });
  const { first } = await requestOf(before);
  await before.close();

  const after = createRuntime({ agents: talk(model), log });
  const requestId = first[0]?.request_id;
  const rest = await collect(after, "talk", { ...answer, ...(requestId && { request_id: requestId }) });

  expect(model.asked).toEqual([1, 1]);
  expect(rest.at(-1)).toMatchObject({
    result: "Good day sirGood day again",
    usage: { input_tokens: 20, output_tokens: 6 },
  });
  await after.close();
});

test("a transient failure of a model is retried, and the text of the failed attempt does not count", async () => {
  const model = talker([new ModelError("busy", { code: "model_unavailable", retryAfterMs: 1 })]);
  const runtime = createRuntime({ agents: talk(model) });
  const { first } = await requestOf(runtime);
  const requestId = first[0]?.request_id;
  const rest = await collect(runtime, "talk", { ...answer, ...(requestId && { request_id: requestId }) });

  expect(model.asked).toEqual([1, 2, 1]);
  expect(first.filter(({ type }) => type === "CompletionCall")).toMatchObject([
    { attempt: 1 },
    { attempt: 2 },
  ]);
  expect(rest.at(-1)).toMatchObject({ finish_reason: "success", result: "Good day sirGood day again" });
  await runtime.close();
});

test("a permanent failure of a model ends the completion with a message that the agent may read", async () => {
  const model = talker([new ModelError("no such model")]);
  const runtime = createRuntime({ agents: talk(model) });
  const { first } = await requestOf(runtime);
  expect(first.find(({ type }) => type === "CompletionResult")).toMatchObject({ error: "no such model" });
  expect(first.at(-1)).toMatchObject({
    finish_reason: "error",
    error: { code: "agent_error", message: "no such model" },
  });
  await runtime.close();
});

test("a model that asks for a delay beyond the time of its retries ends the completion at once", async () => {
  const model = talker([
    new ModelError("no more today", { code: "model_unavailable", retryAfterMs: 3_600_000 }),
  ]);
  const runtime = createRuntime({ agents: talk(model, { forMs: 60_000 }) });
  const { first } = await requestOf(runtime);
  expect(first.at(-1)).toMatchObject({
    finish_reason: "error",
    error: { code: "model_unavailable", message: "no more today (it asks for a retry after 3600 s)" },
  });
  expect(model.asked).toEqual([1]);
  await runtime.close();
});

test("a model whose limits cannot be read when it is asked ends the turn, which would wait for it for ever", async () => {
  let reads = 0;
  const model: Model = {
    name: "moody",
    get concurrency(): number {
      reads += 1;
      if (reads > 2) throw new Error("no limit for you");
      return 1;
    },
    async *generate() {
      yield { type: "result", result: 1, usage: {} };
    },
  };
  const agent = defineAgent({
    name: "asker",
    purpose: "Asks.",
    async chat(_, turn) {
      await turn.complete({ model, input: "" });
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("asker", chat);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    finish_reason: "error",
    error: { code: "agent_error", message: "no limit for you" },
  });
});
