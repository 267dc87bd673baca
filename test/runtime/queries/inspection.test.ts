// What the people who operate a server see of its runs and agents.
import { createRuntime, defineAgent, defineTool, fromMachine } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import type { Event, RequestId, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { asked, chat, TestHost } from "../test-host.ts";

const counter = defineAgent({
  name: "counter",
  purpose: "Counts its turns.",
  async chat(input, turn) {
    const before = (turn.memory.get() as { readonly count?: number } | undefined)?.count ?? 0;
    await turn.text(`I begin ${input}. `);
    await turn.waitForInput({ go: "Go?" });
    turn.memory.set({ count: before + 1, api_token: "t-123" });
    return `${before + 1}`;
  },
});

test("memory, configuration and mailbox of a run are those as of an event", async () => {
  const host = new TestHost({ agents: [counter] });
  await host.ask("counter", { ...chat, input: "one" });
  const runId = ((await host.events(asked))[0]?.run_id ?? "") as RunId;
  await host.ask("counter", {
    type: "ConfigureRequest",
    args: { level: 3, password: "p" },
    run_id: runId,
  });
  await host.ask("counter", {
    ...chat,
    input: "two",
    request_id: "second",
    run_id: runId,
    on_busy: "enqueue",
  });
  const { head: waitId } = await rowOf(host, runId);
  const now = await host.runtime.inspection.run(runId);
  expect(now).toMatchObject({
    run_id: runId,
    agent: "counter",
    at: waitId,
    turns: 1,
    memory: {},
    config: { version: 1, args: { level: 3 } },
    queued: [{ request_id: "second", operation: "chat", input: "two" }],
    in_memory: true,
  });
  expect(JSON.stringify(now)).not.toContain('"p"');

  await answer(host, asked);
  await answer(host, "second");
  const events = await host.events(runId);
  const ends = ofType(events, "RequestCompleted").map(({ id }) => id);
  const memoryAt = async (at: number): Promise<unknown> =>
    (await host.runtime.inspection.run(runId, at)).memory;
  expect(await memoryAt((ends[0] ?? 0) - 1)).toEqual({});
  expect(await memoryAt(ends[0] ?? 0)).toEqual({ counter: { count: 1, api_token: "[secret]" } });
  expect(await memoryAt((ends[1] ?? 0) - 1)).toEqual({ counter: { count: 1, api_token: "[secret]" } });
  const last = await host.runtime.inspection.run(runId, 1_000_000);
  expect(last).toMatchObject({ at: events.length, turns: 2, queued: [], memory: { counter: { count: 2 } } });
  expect((await host.runtime.inspection.run(runId, 1)).config).toBeNull();
  await expect(host.runtime.inspection.run("run_none")).rejects.toMatchObject({ code: "not_found" });
});

test("what happened to the process while a turn ran is between its events, with the time", async () => {
  const host = new TestHost({ agents: [counter] });
  await host.ask("counter", { ...chat, input: "one" });
  const runId = ((await host.events(asked))[0]?.run_id ?? "") as RunId;
  host.planFault({ kind: "crash", written: false });
  void answer(host, asked).catch(() => {});
  await host.environment.idle();
  await host.restart();
  await answer(host, asked);
  const { marks } = await host.runtime.inspection.run(runId);
  expect(marks).toMatchObject([{ type: "accepted", after: 0, request_id: asked }]);

  const slow = defineAgent({
    name: "slow",
    purpose: "Works.",
    async chat(_, turn) {
      await turn.text("I work. ");
      await new Promise(() => {});
    },
  });
  const working = new TestHost({ agents: [slow] });
  await working.ask("slow", chat);
  await working.restart();
  const [first] = await working.events(asked);
  const run = await working.runtime.inspection.run(first?.run_id as RunId);
  expect(run.marks).toEqual([
    { type: "accepted", after: 0, request_id: asked, at: expect.any(String) as string },
    { type: "recovered", after: 2, request_id: asked, at: expect.any(String) as string },
  ]);
  expect((await working.runtime.inspection.run(first?.run_id as RunId, 1)).marks).toHaveLength(1);
});

test("a turn that continues after a long sleep was not recovered", async () => {
  const sleeper = defineAgent({
    name: "sleeper",
    purpose: "Sleeps for a minute.",
    async chat(_, turn) {
      await turn.sleep(60_000);
    },
  });
  const host = new TestHost({ agents: [sleeper] });
  await host.ask("sleeper", chat);
  await host.environment.advance(61_000);
  const [first] = await host.events(asked);
  const runId = first?.run_id as RunId;
  expect((await host.runtime.status(asked)).status).toBe("completed");
  expect((await host.runtime.inspection.run(runId)).marks.map(({ type }) => type)).toEqual(["accepted"]);
});

test("the context of a machine is that of its newest state as of an event", async () => {
  const machine = setup({
    types: {
      context: {} as { readonly paid: number; readonly card_secret: string },
      events: {} as { readonly type: "resume"; readonly sum: number } | { readonly type: "chat" },
    },
  }).createMachine({
    initial: "idle",
    context: { paid: 0, card_secret: "4111" },
    states: {
      idle: { on: { chat: "asking" } },
      asking: {
        tags: "wait",
        meta: { request_keys: { sum: "How much?" } },
        on: {
          resume: [
            { guard: ({ event }) => event.sum === 0, target: "done" },
            {
              target: "asking",
              reenter: true,
              actions: assign({ paid: ({ context, event }) => context.paid + event.sum }),
            },
          ],
        },
      },
      done: { type: "final" },
    },
  });
  const shop = fromMachine({ name: "shop", purpose: "Takes money.", machine });
  const outer = defineAgent({
    name: "outer",
    purpose: "Calls shop.",
    tools: [shop],
    async chat(input, turn) {
      await turn.call(shop, "chat", { input });
    },
  });
  const host = new TestHost({ agents: [outer] });
  await host.ask("outer", chat);
  for (const sum of [2, 3, 0]) {
    const events = await host.events(asked);
    const wait_id = ofType(events, "WaitForInput").at(-1)?.id ?? 0;
    await host.ask("outer", { type: "ResumeWithInput", request_id: asked, wait_id, request_keys: { sum } });
  }
  const events = await host.events(asked);
  const runId = events[0]?.run_id as RunId;
  const seen = await Promise.all(
    events.map(async ({ id, type }) => {
      const { machines } = await host.runtime.inspection.run(runId, id);
      return [type, machines.map(({ value, context }) => [value, (context as { paid: number }).paid])];
    }),
  );
  expect(seen).toEqual([
    ["RequestStarted", []],
    ["ToolCall", []],
    ["StateChanged", [["asking", 0]]],
    ["WaitForInput", [["asking", 0]]],
    ["ResumeWithInput", [["asking", 0]]],
    ["StateChanged", [["asking", 2]]],
    ["WaitForInput", [["asking", 2]]],
    ["ResumeWithInput", [["asking", 2]]],
    ["StateChanged", [["asking", 5]]],
    ["WaitForInput", [["asking", 5]]],
    ["ResumeWithInput", [["asking", 5]]],
    ["StateChanged", [["done", 5]]],
    ["ToolResult", [["done", 5]]],
    ["RequestCompleted", [["done", 5]]],
  ]);
  const { machines } = await host.runtime.inspection.run(runId);
  expect(machines).toEqual([
    {
      request_id: asked,
      call_id: "c1.1",
      value: "done",
      status: "done",
      context: { paid: 5, card_secret: "[secret]" },
    },
  ]);
});

test("the copied part of a fork has the states of the other run, and its own part its own", async () => {
  const host = new TestHost({ agents: [counter] });
  const runs = async (requestId: RequestId, more: object = {}): Promise<Event> => {
    await host.ask("counter", { ...chat, input: "x", request_id: requestId, ...more });
    await answer(host, requestId);
    return (await host.events(requestId)).at(-1) as Event;
  };
  const { run_id: source } = await runs(asked);
  const { id: after } = await runs("second", { run_id: source });
  const fork = await host.runtime.fork(source, { after });
  await runs("third", { run_id: fork });
  const countAt = async (at?: number): Promise<unknown> =>
    (await host.runtime.inspection.run(fork, at)).memory["counter"];
  expect(await countAt(1)).toBeUndefined();
  expect(await countAt(after - 1)).toMatchObject({ count: 1 });
  expect(await countAt(after)).toMatchObject({ count: 2 });
  expect(await countAt()).toMatchObject({ count: 3 });
});

const fetchPage = defineTool({
  name: "fetch_page",
  description: "Fetches a page.",
  input: z.object({ url: z.string() }),
  effect: "idempotent",
  run: ({ url }) => url,
});

test("an agent is shown with everything it calls, also what was bound in its place", async () => {
  const helper = defineAgent({ name: "helper", purpose: "Helps.", chat: () => "ok" });
  const better = defineAgent({ name: "better", purpose: "Helps better.", chat: () => "ok" });
  const writer = llmAgent({
    name: "writer",
    purpose: "Writes.",
    version: "2",
    instructions: "Write.",
    model: scriptedModel([], { name: "gpt-x" }),
    tools: [fetchPage],
    agents: [helper],
  });
  const runtime = createRuntime({ agents: [writer, better, fetchPage], bind: { helper: better } });
  const { inspection } = runtime;
  expect(inspection.agent("writer")).toMatchObject({
    name: "writer",
    kind: "agent",
    version: "2",
    model: "gpt-x",
    memory: "own",
    tools: [
      {
        name: "fetch_page",
        kind: "tool",
        effect: "idempotent",
        served: true,
        operations: [{ name: "fetch_page", input_schema: { properties: { url: { type: "string" } } } }],
      },
    ],
    collaborators: [{ name: "helper", agent: "better", kind: "agent", served: true, instead_of: "helper" }],
    called_by: [],
  });
  expect(inspection.agent("better").called_by).toEqual(["writer"]);
  expect(inspection.agent("fetch_page")).toMatchObject({
    called_by: ["writer"],
    tools: [{ name: "fetch_page" }],
  });
  expect(() => inspection.agent("nobody")).toThrow("there is no agent nobody");
  expect(inspection.server()).toMatchObject({ durability: "memory", limits: { queued_requests: 8 } });
  await runtime.close();
});

async function answer(host: TestHost, requestId: string): Promise<void> {
  await host.ask("counter", {
    type: "ResumeWithInput",
    request_id: requestId,
    request_keys: { go: "yes" },
  });
}

async function rowOf(host: TestHost, runId: RunId): Promise<{ readonly head: number }> {
  return (await host.log.run(runId)) ?? { head: 0 };
}
