import { createRuntime, defineAgent, localRouter, memoryLog, operation } from "troupe";
import type { AgentError } from "troupe";
import type { Request, RequestId, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { noTelemetry } from "../../../src/runtime/options.ts";
import { alias, row } from "../../../src/testing/event-log/subject.ts";
import { ofType, textsOf } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

const echo = defineAgent({
  name: "echo",
  purpose: "Repeats a text.",
  version: "2",
  chat: (input) => input,
  operations: {
    repeat: operation({
      description: "Says it twice.",
      input: z.object({ word: z.string() }),
      output: z.object({ words: z.string() }),
      run: ({ word }) => ({ words: word + word }),
    }),
  },
});

/** Makes several requests at the same moment. */
async function atOnce<Answer>(host: TestHost, count: number, ask: (n: number) => Promise<Answer>) {
  const all = Promise.allSettled(Array.from({ length: count }, (_, n) => ask(n)));
  await host.environment.idle();
  return all;
}

test("the same request made fifty times at once runs once and gets fifty equal answers", async () => {
  const host = new TestHost({ agents: [echo] });
  const request = { type: "ChatRequest", input: "hi", request_id: asked } as const;
  const receipts = await atOnce(host, 50, () => host.runtime.process("echo", request));

  const values = receipts.map((receipt) => (receipt.status === "fulfilled" ? receipt.value : undefined));
  expect(values.filter((receipt) => receipt?.replayed === false)).toHaveLength(1);
  expect(new Set(values.map((receipt) => receipt?.event)).size).toBe(1);
  expect((await host.runtime.runs({ limit: 10 })).runs).toHaveLength(1);
  expect((await host.events(asked)).map(({ type }) => type)).toEqual(["RequestStarted", "RequestCompleted"]);
});

test("a repeated request gets the first answer, also after a restart", async () => {
  const host = new TestHost({ agents: [echo] });
  const request = {
    type: "ChatRequest",
    input: "hi",
    request_id: asked,
    request_metadata: { at: 1 },
  } as const;
  const first = await host.ask("echo", request);
  await host.restart();
  // The metadata can differ between attempts.
  const again = await host.ask("echo", { ...request, request_metadata: { at: 2 } });
  expect(again).toEqual({ ...first, replayed: true });
});

test("a repeated request gets the first answer although its agent would refuse it now", async () => {
  const host = new TestHost({ agents: [echo] });
  const request = {
    type: "OperationRequest",
    operation: "repeat",
    input: { word: "hi" },
    request_id: asked,
  } as const;
  const first = await host.ask("echo", request);
  await host.restart([defineAgent({ name: "echo", purpose: "Repeats a text.", chat: (input) => input })]);
  expect(await host.ask("echo", request)).toEqual({ ...first, replayed: true });
  const other = { ...request, request_id: "other" };
  await expect(host.ask("echo", other)).rejects.toMatchObject({ code: "not_found" });
});

test("a request is counted once, however often it is made", async () => {
  let counted = 0;
  const telemetry = { ...noTelemetry, accepted: () => (counted += 1) };
  const runtime = createRuntime({ agents: [echo], telemetry });
  const receipts = [];
  while (receipts.length < 3) receipts.push(await runtime.process("echo", chat));
  expect(receipts.map(({ replayed }) => replayed)).toEqual([false, true, true]);
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(1);
  expect(counted).toBe(1);
  await runtime.close();
});

test("a different request with the same id is refused, and so is the id of a run", async () => {
  const host = new TestHost({
    agents: [echo, defineAgent({ name: "other", purpose: "Is another.", chat: (input) => input })],
  });
  const { runId } = await host.ask("echo", { type: "ChatRequest", input: "hi", request_id: asked });
  const others: readonly (readonly [string, Request])[] = [
    ["echo", { type: "ChatRequest", input: "ho", request_id: asked }],
    ["echo", { type: "ChatRequest", input: "hi", request_id: asked, run_id: runId as RunId }],
    ["echo", { type: "OperationRequest", operation: "repeat", input: { word: "hi" }, request_id: asked }],
    ["other", { type: "ChatRequest", input: "hi", request_id: asked }],
    ["echo", { type: "ChatRequest", input: "hi", request_id: runId as unknown as RequestId }],
  ];
  for (const [agent, request] of others) {
    await expect(host.ask(agent, request)).rejects.toMatchObject({ code: "conflict" });
  }
});

test("a request whose answer was lost in a crash runs once, whether or not it was written", async () => {
  for (const written of [false, true]) {
    const host = new TestHost({ agents: [echo] });
    await host.runtime.ready();
    host.planFault({ kind: "crash", written });
    const request = { type: "ChatRequest", input: "hi", request_id: asked } as const;
    void host.runtime.process("echo", request);
    await host.environment.idle();
    await host.restart();
    const { replayed } = await host.ask("echo", request);
    expect(replayed).toBe(written);
    expect((await host.events(asked)).at(-1)).toMatchObject({ result: "hi" });
    expect((await host.runtime.runs({ limit: 10 })).runs).toHaveLength(1);
  }
});

test("an invalid request is refused before anything is written", async () => {
  const host = new TestHost({ agents: [echo] });
  await host.runtime.ready();
  const wrong: readonly (readonly [string, Request, string])[] = [
    ["nobody", { type: "ChatRequest", input: "hi" }, "not_found"],
    ["echo", { type: "ChatRequest", input: "hi", run_id: "run_unknown" }, "not_found"],
    ["echo", { type: "OperationRequest", operation: "sing", input: {} }, "not_found"],
    ["echo", { type: "OperationRequest", operation: "constructor", input: {} }, "not_found"],
    ["echo", { type: "OperationRequest", operation: "repeat", input: { word: 1 } }, "unprocessable"],
    ["echo", { type: "ChatRequest", input: "hi", attachments: ["file"] }, "unprocessable"],
    ["echo", { type: "ResumeWithInput", request_id: asked, request_keys: {} }, "not_found"],
  ];
  for (const [agent, request, code] of wrong) {
    await expect(host.ask(agent, request)).rejects.toMatchObject({ code });
  }
  expect(host.commits).toBe(0);
});

test("a run belongs to one agent and is unknown to others", async () => {
  const other = defineAgent({ name: "other", purpose: "Is another.", chat: (input) => input });
  const host = new TestHost({ agents: [echo, other] });
  const { runId, requestId } = await host.ask("echo", { type: "ChatRequest", input: "hi" });
  for (const request of [
    { type: "ChatRequest", input: "hi", run_id: runId as RunId },
    { type: "CancelRequest", request_id: requestId },
    { type: "ConfigureRequest", args: {}, run_id: runId as RunId },
  ] as const) {
    await expect(host.ask("other", request)).rejects.toMatchObject({ code: "not_found" });
  }
});

test("an agent describes itself, and always has a chat", async () => {
  const adder = defineAgent({
    name: "adder",
    purpose: "Adds.",
    config: z.object({ places: z.number() }),
    operations: {
      add: operation({
        description: "Adds two numbers.",
        input: z.object({ a: z.number(), b: z.number() }),
        output: z.object({ sum: z.number() }),
        run: ({ a, b }) => ({ sum: a + b }),
      }),
    },
  });
  const host = new TestHost({ agents: [echo, adder] });
  expect(host.runtime.agents).toEqual(["echo", "adder"]);
  expect(host.runtime.describe("adder")).toMatchObject({
    name: "adder",
    purpose: "Adds.",
    tools: [],
    operations: [
      {
        name: "chat",
        description: "Calls add; the text is its input as JSON. Adds two numbers.",
        input_schema: { required: ["input"] },
        output_schema: { required: ["sum"] },
      },
      {
        name: "add",
        description: "Adds two numbers.",
        input_schema: { required: ["a", "b"] },
        output_schema: { required: ["sum"] },
      },
    ],
    config_schema: { required: ["places"] },
  });
  expect(host.runtime.describe("echo").version).toBe("2");
  expect(() => host.runtime.describe("nobody")).toThrow("there is no agent nobody");
});

test("an agent whose only operation takes one text accepts a chat as that text", async () => {
  const shout = defineAgent({
    name: "shout",
    purpose: "Shouts.",
    operations: {
      shout: operation({
        input: z.object({ what: z.string(), times: z.number().optional() }),
        run: ({ what }) => what.toUpperCase(),
      }),
    },
  });
  const caller = defineAgent({
    name: "caller",
    purpose: "Chats with another.",
    chat: async (input, turn) => (await turn.call(shout, "chat", { input })).output,
  });
  const host = new TestHost({ agents: [shout, caller] });
  await host.ask("shout", { type: "ChatRequest", input: "hello", request_id: asked });
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success", result: "HELLO" });

  const { requestId } = await host.ask("caller", { type: "ChatRequest", input: "hello" });
  const events = await host.events(requestId);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "HELLO" });
  expect(ofType(events, "ToolCall")).toMatchObject([{ function_name: "shout", args: { input: "hello" } }]);
});

test("an agent without a chat accepts JSON as an operation, and lists its operations for any other text", async () => {
  const counter = defineAgent({
    name: "counter",
    purpose: "Counts.",
    operations: {
      up: operation({ input: z.object({ by: z.number() }), run: ({ by }) => by }),
      down: operation({ input: z.object({ by: z.number() }), run: ({ by }) => -by }),
    },
  });
  const host = new TestHost({ agents: [counter] });
  expect(host.runtime.describe("counter").operations[0]).toEqual({
    name: "chat",
    description: 'The text is JSON: {"operation": …, "input": …}. The operations: up, down.',
    input_schema: { type: "object", properties: { input: { type: "string" } }, required: ["input"] },
  });
  const ends = [];
  for (const input of [
    '{"operation":"down","input":{"by":3}}',
    '{"operation":"down","input":{}}',
    "down by 3",
    "{}",
  ]) {
    const { requestId } = await host.ask("counter", { type: "ChatRequest", input });
    ends.push((await host.events(requestId)).at(-1));
  }
  expect(ends).toMatchObject([
    { finish_reason: "success", output: -3 },
    { finish_reason: "error", error: { code: "unsupported_input" } },
    {
      finish_reason: "error",
      error: {
        code: "unsupported_input",
        message: "agent counter has no chat; use one of its operations: up, down",
      },
    },
    { finish_reason: "error", error: { code: "unsupported_input" } },
  ]);
});

test("a run is created once for a key, however often and concurrently", async () => {
  const host = new TestHost({ agents: [echo] });
  const runs = await atOnce(host, 50, () =>
    host.runtime.createRun("echo", { key: "thread-1", input: "start", metadata: { from: "test" } }),
  );
  const ids = new Set(runs.map((run) => (run.status === "fulfilled" ? run.value : String(run.reason))));
  expect(ids.size).toBe(1);
  expect(host.faults).toEqual([]);

  await host.restart();
  const [runId] = ids;
  expect(await host.runtime.createRun("echo", { key: "thread-1" })).toBe(runId);
  expect(await host.events(runId ?? "")).toMatchObject([
    { type: "RunCreated", id: 1, request_id: null, input: "start", metadata: { from: "test" } },
  ]);
  expect((await host.runtime.runs({ limit: 10 })).runs).toMatchObject([
    { run_id: runId, agent: "echo", status: "idle", turns: 0, initial_input: "start" },
  ]);
});

test("each agent has its own keys", async () => {
  const other = defineAgent({ name: "other", purpose: "Repeats a text.", chat: (input) => input });
  const host = new TestHost({ agents: [echo, other] });
  const [first, second] = await Promise.all(
    ["echo", "other"].map((agent) => host.runtime.createRun(agent, { key: "thread-1" })),
  );
  expect(second).not.toBe(first);
  expect((await host.events(second ?? ""))[0]).toMatchObject({ type: "RunCreated", agent: "other" });

  await host.restart();
  expect(await host.runtime.createRun("echo", { key: "thread-1" })).toBe(first);
  expect(await host.runtime.createRun("other", { key: "thread-1" })).toBe(second);
});

test("two processes on one log that create a run for the same key get the same run", async () => {
  const host = new TestHost({ agents: [echo] });
  await host.runtime.ready();
  const find = host.log.find;
  // The other process takes the key between our lookup and our commit.
  Object.assign(host.log, { find: async () => undefined });
  const other = await host.log.claim("run_other");
  await host.log.append(other.cursor, {
    events: [],
    records: [],
    run: row(),
    alias: alias("thread-1"),
  });
  const creating = host.runtime.createRun("echo", { key: "thread-1" });
  Object.assign(host.log, { find });
  await host.environment.idle();
  expect(await creating).toBe("run_other");
});

test("a removed run is gone with its requests, and its key can be used again", async () => {
  const host = new TestHost({ agents: [echo] });
  const creating = host.runtime.createRun("echo", { key: "thread-1" });
  await host.environment.idle();
  const runId = await creating;
  await host.ask("echo", { type: "ChatRequest", input: "hi", run_id: runId, request_id: asked });

  const removing = host.runtime.removeRun(runId);
  await host.environment.idle();
  await removing;
  await expect(host.runtime.resolve(runId)).rejects.toMatchObject({ code: "gone" });
  await expect(host.ask("echo", { type: "ChatRequest", input: "hi", run_id: runId })).rejects.toMatchObject({
    code: "gone",
  });
  expect((await host.runtime.runs({ limit: 10 })).runs).toEqual([]);

  const again = host.runtime.createRun("echo", { key: "thread-1" });
  await host.environment.idle();
  expect(await again).not.toBe(runId);
});

test("a run with an open request is not removed", async () => {
  const asker = defineAgent({
    name: "asker",
    purpose: "Asks.",
    chat: async (_input, turn) => void (await turn.waitForInput({ name: "Your name?" })),
  });
  const host = new TestHost({ agents: [asker] });
  const { runId } = await host.ask("asker", { type: "ChatRequest", input: "", request_id: asked });
  const removing = host.runtime.removeRun(runId as RunId);
  removing.catch(() => {});
  await host.environment.idle();
  await expect(removing).rejects.toMatchObject({ code: "conflict" });
});

test("a request that races with the removal of its run is either answered or refused as gone", async () => {
  const outcomes = new Set<string>();
  for (let seed = 1; seed <= 40; seed += 1) {
    const host = new TestHost({ agents: [echo], seed });
    const { runId } = await host.ask("echo", { type: "ChatRequest", input: "first" });
    const asking = host.runtime.process("echo", {
      type: "ChatRequest",
      input: "second",
      run_id: runId as RunId,
    });
    const attempts = await Promise.allSettled([
      host.runtime.removeRun(runId as RunId),
      asking,
      host.environment.idle(),
    ]);
    await host.environment.idle();
    const [removed, answered] = attempts.map((attempt) =>
      attempt.status === "fulfilled" ? "yes" : (attempt.reason as AgentError).code,
    );
    outcomes.add(
      `removed: ${removed}, answered: ${answered}, events: ${(await host.events(runId ?? "")).length}`,
    );
    expect(host.faults).toEqual([]);
  }
  const possible = ["removed: conflict, answered: yes, events: 4", "removed: yes, answered: gone, events: 0"];
  expect([...outcomes].filter((outcome) => !possible.includes(outcome))).toEqual([]);
});

test("a run whose removal failed halfway is gone, and is removed when the log can be written", async () => {
  const host = new TestHost({ agents: [echo] });
  const { runId } = await host.ask("echo", { type: "ChatRequest", input: "first" });
  const { remove } = host.log;
  Object.assign(host.log, { remove: () => Promise.reject(new Error("the disk is gone")) });
  await expect(host.runtime.removeRun(runId as RunId)).rejects.toMatchObject({ code: "unavailable" });
  const late = host.runtime.process("echo", { type: "ChatRequest", input: "late", run_id: runId as RunId });
  await expect(late).rejects.toMatchObject({ code: "gone" });
  expect((await host.runtime.runs({ limit: 10 })).runs).toEqual([]);
  Object.assign(host.log, { remove });
  await host.environment.advance(1_000);
  expect(await host.log.run(runId as RunId)).toMatchObject({ removed: true });
});

test("a run is removed by the process that owns it", async () => {
  const log = memoryLog();
  const router = localRouter();
  const faults: string[] = [];
  const telemetry = { ...noTelemetry, fault: (message: string) => void faults.push(message) };
  const owner = createRuntime({ agents: [echo], log, router, telemetry });
  const other = createRuntime({
    agents: [echo],
    log,
    router: { ...router, serve: async () => async () => {} },
    telemetry,
  });
  const { runId } = await owner.process("echo", { type: "ChatRequest", input: "first" });

  await other.removeRun(runId as RunId);

  const late = owner.process("echo", { type: "ChatRequest", input: "second", run_id: runId as RunId });
  await expect(late).rejects.toMatchObject({ code: "gone" });
  expect(owner.health().activeRuns).toBe(0);
  expect(faults).toEqual([]);
});

test("two concurrent removals of a run do not conflict", async () => {
  const host = new TestHost({ agents: [echo] });
  const { runId } = await host.ask("echo", { type: "ChatRequest", input: "first" });
  const attempts = [1, 2].map(() => host.runtime.removeRun(runId as RunId));
  const settled = Promise.allSettled(attempts);
  await host.environment.idle();

  expect(await settled).toMatchObject([{ status: "fulfilled" }, { reason: { code: "gone" } }]);
});

test("a configuration applies from the next turn on, and a continued turn keeps its own", async () => {
  const agent = defineAgent({
    name: "configured",
    purpose: "Says how it is configured.",
    async chat(_input, turn) {
      await turn.sleep(1_000);
      await turn.text(JSON.stringify(turn.config));
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("configured", { type: "ConfigureRequest", args: { tone: "plain" } });
  const { runId } = await host.ask("configured", { type: "ChatRequest", input: "" });
  const answer = await host.ask("configured", {
    type: "ConfigureRequest",
    args: { tone: "warm", length: 3 },
    run_id: runId as RunId,
  });
  expect(JSON.parse(answer.event ?? "{}")).toMatchObject({
    type: "RequestCompleted",
    id: 0,
    finish_reason: "success",
  });
  await host.restart();
  await host.environment.advance(1_000);
  await host.ask("configured", { type: "ChatRequest", input: "", run_id: runId as RunId });
  await host.environment.advance(1_000);

  const events = await host.events(runId ?? "");
  expect(textsOf(events)).toEqual(['{"tone":"plain"}', '{"tone":"warm","length":3}']);
  expect(ofType(events, "RequestStarted")).toMatchObject([{ config_version: 1 }, { config_version: 2 }]);
  expect(ofType(events, "RequestCompleted")).toHaveLength(2);
});

test("an agent's configuration applies to runs created later, also after a restart", async () => {
  const agent = defineAgent({
    name: "configured",
    purpose: "Says how it is configured.",
    config: z.object({ tone: z.string() }),
    chat: (_input, turn) => JSON.stringify(turn.config),
  });
  const host = new TestHost({ agents: [agent] });
  const wrong = host.ask("configured", { type: "ConfigureRequest", args: { tone: 3 } });
  await expect(wrong).rejects.toMatchObject({ code: "unprocessable" });
  await host.ask("configured", { type: "ConfigureRequest", args: { tone: "warm" } });
  await host.restart();
  const { requestId } = await host.ask("configured", { type: "ChatRequest", input: "" });
  expect((await host.events(requestId)).at(-1)).toMatchObject({ result: '{"tone":"warm"}' });
  expect((await host.runtime.runs({ limit: 10 })).runs).toHaveLength(1);
});

test.each([
  { end: "success", says: "has ended with success and takes no answer" },
  { end: "canceled", says: "was canceled and takes no answer" },
  { end: "agent_error", says: "has ended with agent_error and takes no answer: it broke" },
])("an answer to a request that has ended says how it ended: $end", async ({ end, says }) => {
  const agent = defineAgent({
    name: "ending",
    purpose: "Ends as it is told.",
    async chat(input, turn) {
      if (input === "agent_error") throw new Error("it broke");
      if (input === "canceled") await turn.waitForInput({ go: "Go on?" });
    },
  });
  const host = new TestHost({ agents: [agent] });
  const { runId } = await host.ask("ending", { ...chat, input: end });
  if (end === "canceled") await host.ask("ending", { type: "CancelRequest", request_id: asked });
  const answer = { type: "ResumeWithInput", request_keys: { go: true } } as const;
  const late = host.ask("ending", { ...answer, request_id: asked });
  await expect(late).rejects.toMatchObject({ code: "conflict", message: `request asked ${says}` });
  const unnamed = host.ask("ending", { ...answer, run_id: runId as RunId });
  await expect(unnamed).rejects.toMatchObject({
    code: "conflict",
    message: `no request of run ${runId} waits for input: its newest one, asked, has ended with ${end}`,
  });
});
