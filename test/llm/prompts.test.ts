// What completions are asked, as the log keeps it for the people who operate the server.
import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Model } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import type { CallId, Json, RequestId } from "troupe/protocol";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import type { EventLog } from "../../src/ports/event-log.ts";
import type { LogRecord } from "../../src/ports/log-batch.ts";
import { ofType } from "../agents/events.ts";
import { asked, chat, TestHost } from "../runtime/test-host.ts";

const clerk = llmAgent({
  name: "clerk",
  purpose: "Answers.",
  instructions: "Be brief.",
  model: scriptedModel(({ messages }) => `Answer ${messages.length}.`),
});

test("the log has of each prompt only what is new, also in the next turn and after a restart", async () => {
  const host = new TestHost({ agents: [clerk] });
  await host.ask("clerk", { ...chat, input: "one" });
  const [first] = await host.events(asked);
  const runId = first?.run_id ?? "";
  await host.ask("clerk", { ...chat, input: "two", request_id: "second", run_id: runId });
  await host.restart();
  await host.ask("clerk", { ...chat, input: "three", request_id: "third", run_id: runId });

  const prompts = await promptsIn(host.log, runId);
  expect(prompts.map(({ keep, messages, fields }) => ({ keep, messages, fields }))).toEqual([
    { keep: 0, messages: [user("one")], fields: { instructions: "Be brief.", tools: [] } },
    { keep: 1, messages: [assistant("Answer 1."), user("two")], fields: {} },
    { keep: 3, messages: [assistant("Answer 3."), user("three")], fields: {} },
  ]);
  expect(await host.runtime.inspection.completion("third", await completionOf(host, "third"))).toMatchObject({
    run_id: runId,
    agent: "clerk",
    attempt: 1,
    instructions: "Be brief.",
    messages: [user("one"), assistant("Answer 1."), user("two"), assistant("Answer 3."), user("three")],
    known_messages: 3,
    tools: [],
    settings: {},
    cut: false,
  });
});

test("a prompt that does not continue the one before is whole, and fields that are equal are not repeated", async () => {
  const inputs: readonly Json[] = [
    { instructions: "A", messages: ["one"], temperature: 1 },
    { instructions: "B", messages: ["other"], temperature: 1 },
    { instructions: "B", messages: ["other", "more"] },
    "a text",
  ];
  const host = new TestHost({ agents: [asker(inputs)] });
  await host.ask("asker", chat);
  const [first] = await host.events(asked);
  const prompts = await promptsIn(host.log, first?.run_id ?? "");
  expect(prompts.map(({ keep, messages, fields }) => ({ keep, messages, fields }))).toEqual([
    { keep: 0, messages: ["one"], fields: { instructions: "A", temperature: 1 } },
    { keep: 0, messages: ["other"], fields: { instructions: "B" } },
    { keep: 1, messages: ["more"], fields: {} },
    { keep: 0, messages: [], fields: { "": "a text" } },
  ]);
  const calls = ofType(await host.events(asked), "CompletionCall").map(({ call_id: callId }) => callId);
  const read = await Promise.all(calls.map((callId) => host.runtime.inspection.completion(asked, callId)));
  expect(
    read.map(({ instructions, messages, settings, input }) => ({ instructions, messages, settings, input })),
  ).toEqual([
    { instructions: "A", messages: ["one"], settings: { temperature: 1 } },
    { instructions: "B", messages: ["other"], settings: { temperature: 1 } },
    { instructions: "B", messages: ["other", "more"], settings: {} },
    { messages: [], settings: {}, input: "a text" },
  ]);
});

test("a long conversation is read from a limited number of records", async () => {
  const inputs = Array.from({ length: 250 }, (_, last) => ({
    messages: Array.from({ length: last + 1 }, (_message, index) => `message ${index}`),
  }));
  const host = new TestHost({ agents: [asker(inputs)] });
  await host.ask("asker", chat);
  const [first] = await host.events(asked);
  const prompts = await promptsIn(host.log, first?.run_id ?? "");
  expect(prompts.filter(({ base }) => base === undefined).length).toBe(3);
  const { messages } = await host.runtime.inspection.completion(asked, "c1.250");
  expect(messages).toEqual(inputs[249]?.messages);
});

test("what changed code asks after a crash is the next attempt, and equal prompts are recorded once", async () => {
  const never: Model = { ...scriptedModel([]), generate: () => hang() };
  const versions = (instructions: string, model: Model): ReturnType<typeof llmAgent> =>
    llmAgent({ name: "clerk", purpose: "Answers.", instructions, model });
  const host = new TestHost({ agents: [versions("old", never)] });
  await host.ask("clerk", { ...chat, input: "one" });
  await host.restart();
  const runId = (await host.events(asked))[0]?.run_id ?? "";
  expect(await promptsIn(host.log, runId)).toHaveLength(1);
  await host.restartUntilContinued(asked, [versions("new", scriptedModel(["Done."]))]);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
  expect(await promptsIn(host.log, runId)).toMatchObject([
    { attempt: 1, fields: { instructions: "old" } },
    { attempt: 3, fields: { instructions: "new" }, messages: [] },
  ]);
  expect(await host.runtime.inspection.completion(asked, await completionOf(host, asked))).toMatchObject({
    attempt: 3,
    instructions: "new",
    messages: [user("one")],
  });
});

test("secret values of a configuration are in no prompt of the log", async () => {
  const log = memoryLog();
  const agent = llmAgent({
    name: "clerk",
    purpose: "Answers.",
    config: z.object({ api_key: z.string().default("none"), pin: z.number().default(0) }),
    instructions: ({ config }) => `Use "${config.api_key}" and ${config.pin}.`,
    model: scriptedModel(["Done."]),
  });
  const runtime = createRuntime({ agents: [agent], log });
  await runtime.process("clerk", { type: "ConfigureRequest", args: { api_key: 'k-"1234', pin: 7 } });
  const events = await collect(runtime, "clerk", { type: "ChatRequest", input: "go" });
  const prompts = await promptsIn(log, events[0]?.run_id ?? "");
  await runtime.close();
  expect(prompts.map(({ fields }) => fields)).toEqual([{ instructions: 'Use "[secret]" and 7.', tools: [] }]);
  expect(JSON.stringify(prompts)).not.toContain("1234");
});

test("of a prompt that is too large, long texts are cut, and older messages left out", async () => {
  const many = Array.from({ length: 1_000 }, (_, index) => `${index} ${"x".repeat(1_000)}`);
  const inputs = [
    { instructions: "y".repeat(500_000), messages: ["z"] },
    { messages: many },
    { messages: [...many, "last"] },
  ];
  const host = new TestHost({ agents: [asker(inputs)] });
  await host.ask("asker", chat);
  const [first] = await host.events(asked);
  for (const record of await promptsIn(host.log, first?.run_id ?? ""))
    expect(JSON.stringify(record).length).toBeLessThan(300_000);
  const [one, , three] = await Promise.all(
    ["c1.1", "c1.2", "c1.3"].map((id) => host.runtime.inspection.completion(asked, id as CallId)),
  );
  expect(one).toMatchObject({ cut: true, messages: ["z"] });
  expect(one?.instructions).toContain("500000 characters in all");
  expect(three).toMatchObject({ cut: true, known_messages: 1_000 });
  expect(three?.messages).toHaveLength(1_001);
  expect(three?.messages.slice(-2)).toEqual([many.at(-1), "last"]);
  expect(three?.messages[0]).toBeNull();
});

test("a prompt that is too large and nested thousands deep is asked, and recorded without its depths", async () => {
  let deep: Json = "x".repeat(300_000);
  for (let depth = 0; depth < 3_500; depth += 1) deep = [deep];
  const host = new TestHost({ agents: [asker([{ messages: [deep, "last"] }])] });
  await host.ask("asker", chat);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
  const prompt = await host.runtime.inspection.completion(asked, await completionOf(host, asked));
  expect(prompt).toMatchObject({ cut: true, known_messages: 0 });
  expect(prompt.messages.at(-1)).toBe("last");
});

test("with prompts: false the log keeps none", async () => {
  const log = memoryLog();
  const runtime = createRuntime({ agents: [clerk], log, prompts: false });
  const events = await collect(runtime, "clerk", { type: "ChatRequest", input: "go" });
  const [call] = ofType(events, "CompletionCall");
  expect(await promptsIn(log, events[0]?.run_id ?? "")).toEqual([]);
  await expect(
    runtime.inspection.completion(call?.request_id as RequestId, call?.call_id as CallId),
  ).rejects.toMatchObject({
    code: "not_found",
    details: { hint: expect.stringContaining("prompts") as string },
  });
  await runtime.close();
});

/** An agent that asks its model these things one after the other. */
function asker(inputs: readonly Json[]): ReturnType<typeof defineAgent> {
  const model: Model = {
    name: "yes",
    async *generate() {
      yield { type: "result", result: "yes", usage: {} };
    },
  };
  return defineAgent({
    name: "asker",
    purpose: "Asks.",
    async chat(_, turn) {
      for (const input of inputs) await turn.complete({ model, input });
    },
  });
}

/** A completion that never ends. */
async function* hang(): AsyncGenerator<never> {
  yield await new Promise<never>(() => {});
}

const user = (content: string): Json => ({ role: "user", content });
const assistant = (content: string): Json => ({ role: "assistant", content });

async function completionOf(host: TestHost, requestId: string): Promise<CallId> {
  const [call] = ofType(await host.events(requestId), "CompletionCall");
  return call?.call_id as CallId;
}

async function promptsIn(log: EventLog, runId: string): Promise<readonly PromptFields[]> {
  const { records } = await log.read(runId, { after: 0, records: true });
  return records.filter(({ type }) => type === "Prompt") as (LogRecord & PromptFields)[];
}

interface PromptFields {
  readonly attempt: number;
  readonly base?: Json;
  readonly keep: number;
  readonly messages: readonly Json[];
  readonly fields: { readonly [name: string]: Json };
}
