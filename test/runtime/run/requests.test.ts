import { createRuntime, defineAgent, localRouter, memoryLog, operation } from "troupe";
import type { AgentError } from "troupe";
import type { Request, RequestId, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { noTelemetry } from "../../../src/runtime/options.ts";
import { ofType, textsOf } from "../../agents/events.ts";
import { World } from "../world.ts";

const asked = "asked" as RequestId;

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
async function atOnce<Answer>(world: World, count: number, ask: (n: number) => Promise<Answer>) {
  const all = Promise.allSettled(Array.from({ length: count }, (_, n) => ask(n)));
  await world.environment.idle();
  return all;
}

test("the same request made fifty times at once runs once and gets fifty equal answers", async () => {
  const world = new World({ agents: [echo] });
  const request = { type: "ChatRequest", input: "hi", request_id: asked } as const;
  const receipts = await atOnce(world, 50, () => world.runtime.process("echo", request));

  const values = receipts.map((receipt) => (receipt.status === "fulfilled" ? receipt.value : undefined));
  expect(values.filter((receipt) => receipt?.replayed === false)).toHaveLength(1);
  expect(new Set(values.map((receipt) => receipt?.event)).size).toBe(1);
  expect((await world.runtime.runs({ limit: 10 })).runs).toHaveLength(1);
  expect((await world.events(asked)).map(({ type }) => type)).toEqual(["RequestStarted", "RequestCompleted"]);
});

test("a repeated request gets the first answer, also after a restart", async () => {
  const world = new World({ agents: [echo] });
  const request = {
    type: "ChatRequest",
    input: "hi",
    request_id: asked,
    request_metadata: { at: 1 },
  } as const;
  const first = await world.ask("echo", request);
  await world.restart();
  // The metadata can differ between attempts.
  const again = await world.ask("echo", { ...request, request_metadata: { at: 2 } });
  expect(again).toEqual({ ...first, replayed: true });
});

test("a different request with the same id is refused, and so is the id of a run", async () => {
  const world = new World({
    agents: [echo, defineAgent({ name: "other", purpose: "Is another.", chat: (input) => input })],
  });
  const { runId } = await world.ask("echo", { type: "ChatRequest", input: "hi", request_id: asked });
  const others: readonly (readonly [string, Request])[] = [
    ["echo", { type: "ChatRequest", input: "ho", request_id: asked }],
    ["echo", { type: "ChatRequest", input: "hi", request_id: asked, run_id: runId as RunId }],
    ["echo", { type: "OperationRequest", operation: "repeat", input: { word: "hi" }, request_id: asked }],
    ["other", { type: "ChatRequest", input: "hi", request_id: asked }],
    ["echo", { type: "ChatRequest", input: "hi", request_id: runId as unknown as RequestId }],
  ];
  for (const [agent, request] of others) {
    await expect(world.ask(agent, request)).rejects.toMatchObject({ code: "conflict" });
  }
});

test("a request whose answer was lost in a crash runs once, whether or not it was written", async () => {
  for (const written of [false, true]) {
    const world = new World({ agents: [echo] });
    await world.runtime.ready();
    world.plan({ kind: "crash", written });
    const request = { type: "ChatRequest", input: "hi", request_id: asked } as const;
    void world.runtime.process("echo", request);
    await world.environment.idle();
    await world.restart();
    const { replayed } = await world.ask("echo", request);
    expect(replayed).toBe(written);
    expect((await world.events(asked)).at(-1)).toMatchObject({ result: "hi" });
    expect((await world.runtime.runs({ limit: 10 })).runs).toHaveLength(1);
  }
});

test("an invalid request is refused before anything is written", async () => {
  const world = new World({ agents: [echo] });
  await world.runtime.ready();
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
    await expect(world.ask(agent, request)).rejects.toMatchObject({ code });
  }
  expect(world.commits).toBe(0);
});

test("a run belongs to one agent and is unknown to others", async () => {
  const other = defineAgent({ name: "other", purpose: "Is another.", chat: (input) => input });
  const world = new World({ agents: [echo, other] });
  const { runId, requestId } = await world.ask("echo", { type: "ChatRequest", input: "hi" });
  for (const request of [
    { type: "ChatRequest", input: "hi", run_id: runId as RunId },
    { type: "CancelRequest", request_id: requestId },
    { type: "ConfigureRequest", args: {}, run_id: runId as RunId },
  ] as const) {
    await expect(world.ask("other", request)).rejects.toMatchObject({ code: "not_found" });
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
  const world = new World({ agents: [echo, adder] });
  expect(world.runtime.agents).toEqual(["echo", "adder"]);
  expect(world.runtime.describe("adder")).toMatchObject({
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
  expect(world.runtime.describe("echo").version).toBe("2");
  expect(() => world.runtime.describe("nobody")).toThrow("there is no agent nobody");
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
  const world = new World({ agents: [shout, caller] });
  await world.ask("shout", { type: "ChatRequest", input: "hello", request_id: asked });
  expect((await world.events(asked)).at(-1)).toMatchObject({ finish_reason: "success", result: "HELLO" });

  const { requestId } = await world.ask("caller", { type: "ChatRequest", input: "hello" });
  const events = await world.events(requestId);
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
  const world = new World({ agents: [counter] });
  expect(world.runtime.describe("counter").operations[0]).toEqual({
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
    const { requestId } = await world.ask("counter", { type: "ChatRequest", input });
    ends.push((await world.events(requestId)).at(-1));
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

test("a run is created once for an alias, however often and concurrently", async () => {
  const world = new World({ agents: [echo] });
  const runs = await atOnce(world, 50, () =>
    world.runtime.createRun("echo", { alias: "thread-1", input: "start", metadata: { from: "test" } }),
  );
  const ids = new Set(runs.map((run) => (run.status === "fulfilled" ? run.value : String(run.reason))));
  expect(ids.size).toBe(1);
  expect(world.faults).toEqual([]);

  await world.restart();
  const [runId] = ids;
  expect(await world.runtime.createRun("echo", { alias: "thread-1" })).toBe(runId);
  expect(await world.events(runId ?? "")).toMatchObject([
    { type: "RunCreated", id: 1, request_id: null, input: "start", metadata: { from: "test" } },
  ]);
  expect((await world.runtime.runs({ limit: 10 })).runs).toMatchObject([
    { run_id: runId, agent: "echo", status: "idle", turns: 0, initial_input: "start" },
  ]);
});

test("each agent has its own aliases", async () => {
  const other = defineAgent({ name: "other", purpose: "Repeats a text.", chat: (input) => input });
  const world = new World({ agents: [echo, other] });
  const [first, second] = await Promise.all(
    ["echo", "other"].map((agent) => world.runtime.createRun(agent, { alias: "thread-1" })),
  );
  expect(second).not.toBe(first);
  expect((await world.events(second ?? ""))[0]).toMatchObject({ type: "RunCreated", agent: "other" });

  await world.restart();
  expect(await world.runtime.createRun("echo", { alias: "thread-1" })).toBe(first);
  expect(await world.runtime.createRun("other", { alias: "thread-1" })).toBe(second);
});

test("two processes on one log that create a run for the same alias get the same run", async () => {
  const world = new World({ agents: [echo] });
  await world.runtime.ready();
  const find = world.log.find;
  // The other process takes the alias between our lookup and our commit.
  Object.assign(world.log, { find: async () => undefined });
  const other = await world.log.claim("run_other");
  await world.log.append(other.cursor, {
    events: [],
    records: [],
    run: {
      agent: "echo",
      status: "idle",
      createdAt: 0,
      updatedAt: 0,
      turns: 0,
      initialInput: null,
      metadata: {},
    },
    alias: { agent: "echo", name: "thread-1" },
  });
  const creating = world.runtime.createRun("echo", { alias: "thread-1" });
  Object.assign(world.log, { find });
  await world.environment.idle();
  expect(await creating).toBe("run_other");
});

test("a removed run is gone with its requests, and its alias can be used again", async () => {
  const world = new World({ agents: [echo] });
  const creating = world.runtime.createRun("echo", { alias: "thread-1" });
  await world.environment.idle();
  const runId = await creating;
  await world.ask("echo", { type: "ChatRequest", input: "hi", run_id: runId, request_id: asked });

  const removing = world.runtime.removeRun(runId);
  await world.environment.idle();
  await removing;
  await expect(world.runtime.resolve(runId)).rejects.toMatchObject({ code: "gone" });
  await expect(world.ask("echo", { type: "ChatRequest", input: "hi", run_id: runId })).rejects.toMatchObject({
    code: "gone",
  });
  expect((await world.runtime.runs({ limit: 10 })).runs).toEqual([]);

  const again = world.runtime.createRun("echo", { alias: "thread-1" });
  await world.environment.idle();
  expect(await again).not.toBe(runId);
});

test("a run with an open request is not removed", async () => {
  const asker = defineAgent({
    name: "asker",
    purpose: "Asks.",
    chat: async (_input, turn) => void (await turn.waitForInput({ name: "Your name?" })),
  });
  const world = new World({ agents: [asker] });
  const { runId } = await world.ask("asker", { type: "ChatRequest", input: "", request_id: asked });
  const removing = world.runtime.removeRun(runId as RunId);
  removing.catch(() => {});
  await world.environment.idle();
  await expect(removing).rejects.toMatchObject({ code: "conflict" });
});

test("a request that races with the removal of its run is either answered or refused as gone", async () => {
  const outcomes = new Set<string>();
  for (let seed = 1; seed <= 40; seed += 1) {
    const world = new World({ agents: [echo], seed });
    const { runId } = await world.ask("echo", { type: "ChatRequest", input: "first" });
    const asking = world.runtime.process("echo", {
      type: "ChatRequest",
      input: "second",
      run_id: runId as RunId,
    });
    const attempts = await Promise.allSettled([
      world.runtime.removeRun(runId as RunId),
      asking,
      world.environment.idle(),
    ]);
    await world.environment.idle();
    const [removed, answered] = attempts.map((attempt) =>
      attempt.status === "fulfilled" ? "yes" : (attempt.reason as AgentError).code,
    );
    outcomes.add(
      `removed: ${removed}, answered: ${answered}, events: ${(await world.events(runId ?? "")).length}`,
    );
    expect(world.faults).toEqual([]);
  }
  const possible = ["removed: conflict, answered: yes, events: 4", "removed: yes, answered: gone, events: 0"];
  expect([...outcomes].filter((outcome) => !possible.includes(outcome))).toEqual([]);
});

test("a run whose removal failed halfway is gone, and is removed when the log can be written", async () => {
  const world = new World({ agents: [echo] });
  const { runId } = await world.ask("echo", { type: "ChatRequest", input: "first" });
  const { remove } = world.log;
  Object.assign(world.log, { remove: () => Promise.reject(new Error("the disk is gone")) });
  await expect(world.runtime.removeRun(runId as RunId)).rejects.toMatchObject({ code: "unavailable" });
  const late = world.runtime.process("echo", { type: "ChatRequest", input: "late", run_id: runId as RunId });
  await expect(late).rejects.toMatchObject({ code: "gone" });
  expect((await world.runtime.runs({ limit: 10 })).runs).toEqual([]);
  Object.assign(world.log, { remove });
  await world.environment.advance(1_000);
  expect(await world.log.run(runId as RunId)).toMatchObject({ removed: true });
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
    router: { send: router.send, serve: () => async () => {} },
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
  const world = new World({ agents: [echo] });
  const { runId } = await world.ask("echo", { type: "ChatRequest", input: "first" });
  const attempts = [1, 2].map(() => world.runtime.removeRun(runId as RunId));
  const settled = Promise.allSettled(attempts);
  await world.environment.idle();

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
  const world = new World({ agents: [agent] });
  await world.ask("configured", { type: "ConfigureRequest", args: { tone: "plain" } });
  const { runId } = await world.ask("configured", { type: "ChatRequest", input: "" });
  const answer = await world.ask("configured", {
    type: "ConfigureRequest",
    args: { tone: "warm", length: 3 },
    run_id: runId as RunId,
  });
  expect(JSON.parse(answer.event ?? "{}")).toMatchObject({
    type: "RequestCompleted",
    id: 0,
    finish_reason: "success",
  });
  await world.restart();
  await world.environment.advance(1_000);
  await world.ask("configured", { type: "ChatRequest", input: "", run_id: runId as RunId });
  await world.environment.advance(1_000);

  const events = await world.events(runId ?? "");
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
  const world = new World({ agents: [agent] });
  const wrong = world.ask("configured", { type: "ConfigureRequest", args: { tone: 3 } });
  await expect(wrong).rejects.toMatchObject({ code: "unprocessable" });
  await world.ask("configured", { type: "ConfigureRequest", args: { tone: "warm" } });
  await world.restart();
  const { requestId } = await world.ask("configured", { type: "ChatRequest", input: "" });
  expect((await world.events(requestId)).at(-1)).toMatchObject({ result: '{"tone":"warm"}' });
  expect((await world.runtime.runs({ limit: 10 })).runs).toHaveLength(1);
});
