import { createRuntime, defineAgent, fromMachine, memoryLog, operation } from "troupe";
import type { EventLog, Runtime } from "troupe";
import { collect, manualEnvironment } from "troupe/testing";
import { expect, onTestFinished, test } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { copyLog } from "../../../src/node/copy/copy-log.ts";
import { memoryArtifacts } from "../../../src/storage/memory/artifacts.ts";
import { memorySecrets } from "../../../src/storage/memory/secrets.ts";
import { RunReader } from "../../../src/view/run-reader.ts";
import { ofType } from "../../agents/events.ts";

const HOUR_MS = 3_600_000;

/** A chart that never ends by itself: it counts, and asks one question from its beginning on. */
const machine = setup({
  types: { context: {} as { readonly sum: number } },
  actions: {
    add: assign({
      sum: ({ context, event }) => context.sum + (event as unknown as { readonly amount: number }).amount,
    }),
  },
}).createMachine({
  context: { sum: 0 },
  initial: "on",
  states: {
    on: {
      tags: "wait",
      meta: { request_keys: { end: "End it?" } },
      on: { add: { actions: "add" }, resume: "off" },
    },
    off: { type: "final" },
  },
  output: ({ context }) => context,
});

const counter = fromMachine({
  name: "counter",
  purpose: "Counts for ever.",
  machine,
  operations: { add: operation({ input: z.object({ amount: z.number() }) }) },
});

/** Works for ever: each step is a turn of the same request. */
const loop = defineAgent({
  name: "loop",
  purpose: "Loops until it is told to end.",
  messages: { stop: z.string(), note: z.string() },
  operations: {
    step: operation({
      input: z.object({ n: z.number() }),
      async run({ n }, turn) {
        await turn.text(`step ${n}`);
        await turn.sleep(60_000);
        const [stop] = turn.received("stop");
        if (stop !== undefined) return `stopped at ${n}`;
        return turn.continueAs("step", { n: n + 1 });
      },
    }),
  },
});

/** Says much, and asks. Its turn is read from its beginning. */
const asker = defineAgent({
  name: "asker",
  purpose: "Asks after many lines.",
  async chat(_input, turn) {
    for (let line = 0; line < 100; line += 1) await turn.text(`${line}`);
    await turn.waitForInput({ go: "Go on?" });
  },
});

const KEY = { key: "one" } as const;

interface World {
  readonly environment: ReturnType<typeof manualEnvironment>;
  readonly log: EventLog;
  runtime: Runtime;
  restart(): Promise<void>;
}

function start(retention: { readonly retainMs?: number; readonly retainBytes?: number }): World {
  const environment = manualEnvironment();
  let log = memoryLog();
  const create = (): Runtime =>
    createRuntime({
      agents: [counter, loop, asker],
      environment,
      log,
      limits: { checkpointEvents: 20 },
      ...retention,
    });
  const world = {
    environment,
    get log() {
      return log;
    },
    runtime: create(),
    async restart() {
      await world.runtime.close();
      log = log.reopen();
      world.runtime = create();
      await environment.idle();
    },
  };
  onTestFinished(() => world.runtime.close());
  return world;
}

/** Begins the life of a chart, and has it count for some hours. */
async function count(world: World, hours: number): Promise<string> {
  const { environment } = world;
  await world.runtime.process("counter", {
    type: "OperationRequest",
    operation: "add",
    input: { amount: 0 },
    request_id: "life",
    ...KEY,
  });
  for (let hour = 0; hour < hours; hour += 1) {
    for (let times = 0; times < 20; times += 1) await world.runtime.ask(counter, "add", { amount: 1 }, KEY);
    await environment.advance(HOUR_MS);
  }
  return (await world.runtime.find("counter", "one")) ?? "";
}

test(
  "the beginning of a turn that never ends is removed, and the turn goes on over a restart",
  { tags: "long" },
  async () => {
    const world = start({ retainMs: 3 * HOUR_MS });
    const runId = await count(world, 30);
    const { base, events, head } = await world.log.read(runId, { after: 0 });
    expect(base?.head).toBeGreaterThan(0.7 * head);
    expect(events.length).toBeLessThan(0.3 * head);
    const first = JSON.parse(events[0] as string) as { readonly ts: string };
    expect(Date.parse(first.ts)).toBeGreaterThan(world.environment.now() - 6 * HOUR_MS);

    await world.restart();
    expect(await world.runtime.ask(counter, "add", { amount: 1 }, KEY)).toEqual(null);
    await world.environment.advance(40 * HOUR_MS);
    expect(await world.runtime.status("life")).toMatchObject({ status: "waiting", state: "on" });
    const question = (await world.runtime.waits({ limit: 10 })).events.map(
      (text) => JSON.parse(text) as unknown,
    );
    expect(question).toMatchObject([{ request_id: "life", request_keys: { end: "End it?" } }]);
    await world.runtime.process("counter", {
      type: "ResumeWithInput",
      request_id: "life",
      request_keys: { end: true },
    });
    await world.environment.idle();
    expect(await world.runtime.status("life")).toMatchObject({ status: "completed", output: { sum: 601 } });
  },
);

test("a reader from the start gets what is still open, and then what is left", { tags: "long" }, async () => {
  const world = start({ retainMs: 3 * HOUR_MS });
  const runId = await count(world, 30);
  const { base, head } = await world.log.read(runId, { after: 0 });
  const begins = base?.head ?? 0;
  const address = { kind: "run", runId, agent: "counter" } as const;
  const seen: { readonly id: number; readonly type: string }[] = [];
  for (let [after, more] = [0, true]; more;) {
    const page = await world.runtime.read(address, { after });
    seen.push(...page.events.map((text) => JSON.parse(text) as (typeof seen)[number]));
    ({ more, cursor: after } = page);
  }
  const old = seen.filter(({ id }) => id <= begins);
  expect(old.map(({ type }) => type)).toEqual(["RequestStarted", "WaitForInput", "StateChanged"]);
  const rest = seen.filter(({ id }) => id > begins).map(({ id }) => id);
  expect(rest).toEqual(Array.from({ length: head - begins }, (_, index) => begins + 1 + index));

  const followed: number[] = [];
  const feed = await world.runtime.follow(address, { after: 1 });
  for await (const { events } of feed.pages)
    for (const text of events) followed.push((JSON.parse(text) as { readonly id: number }).id);
  expect(followed).toEqual(seen.map(({ id }) => id).filter((id) => id > 1));

  const { view } = await new RunReader(world.runtime).read(runId);
  expect(view.turns[0]).toMatchObject({ requestId: "life" });
});

test(
  "a request that was removed with the beginning is gone, and its id stays taken",
  { tags: "long" },
  async () => {
    const world = start({ retainMs: 3 * HOUR_MS });
    const add = (requestId: string) =>
      world.runtime.process("counter", {
        type: "OperationRequest",
        operation: "add",
        input: { amount: 1 },
        request_id: requestId,
        ...KEY,
      });
    await add("life");
    await add("early");
    expect(await world.runtime.status("early")).toMatchObject({ status: "completed" });
    for (let hour = 0; hour < 20; hour += 1) {
      for (let times = 0; times < 20; times += 1) await world.runtime.ask(counter, "add", { amount: 1 }, KEY);
      await world.environment.advance(HOUR_MS);
    }
    await expect(world.runtime.status("early")).rejects.toMatchObject({ code: "gone" });
    await expect(add("early")).rejects.toMatchObject({ code: "gone" });
    expect(await add("life")).toMatchObject({ replayed: true });
  },
);

test("a copy and a fork of the run begin where it does", { tags: "long" }, async () => {
  const world = start({ retainMs: 3 * HOUR_MS });
  const runId = await count(world, 30);
  await world.environment.advance(HOUR_MS);
  await world.runtime.process("counter", {
    type: "ResumeWithInput",
    request_id: "life",
    request_keys: { end: true },
  });
  await world.environment.idle();
  const { base, head } = await world.log.read(runId, { after: 0 });
  const begins = base?.head ?? 0;

  const to = memoryLog();
  const source = { log: world.log, artifacts: memoryArtifacts(), secrets: memorySecrets() };
  const target = { log: to, artifacts: memoryArtifacts(), secrets: memorySecrets() };
  for await (const { isNew } of copyLog(source, target)) expect(isNew).toBe(true);
  expect(await to.read(runId, { after: 0, records: true })).toEqual(
    await world.log.read(runId, { after: 0, records: true }),
  );

  await expect(world.runtime.fork(runId, { after: begins - 1 })).rejects.toMatchObject({ code: "gone" });
  const forked = await world.runtime.fork(runId, { after: head });
  const copied = await world.log.read(forked, { after: 0 });
  expect(copied.base?.head).toBe(begins);
  expect(copied.head).toBe(head);
  await world.restart();
  const events = await collect(world.runtime, "counter", {
    type: "OperationRequest",
    operation: "add",
    input: { amount: 2 },
    run_id: forked,
  });
  expect(events.at(-1)).toMatchObject({ type: "WaitForInput" });
});

test("a loop that continues as itself loses its beginning, and keeps its unread messages", async () => {
  const world = start({ retainMs: 2 * HOUR_MS });
  const { environment } = world;
  await world.runtime.process("loop", {
    type: "OperationRequest",
    operation: "step",
    input: { n: 0 },
    request_id: "walk",
    ...KEY,
  });
  await world.runtime.process("loop", { type: "Message", name: "note", body: "kept", ...KEY });
  await environment.advance(20 * HOUR_MS);
  const runId = (await world.runtime.find("loop", "one")) ?? "";
  const { base, events, head } = await world.log.read(runId, { after: 0 });
  expect(head).toBeGreaterThan(1_000);
  expect(base?.head).toBeGreaterThan(0.7 * head);
  expect(events.length).toBeLessThan(0.3 * head);
  await world.restart();
  await environment.advance(HOUR_MS);
  await world.runtime.process("loop", { type: "Message", name: "stop", body: "", ...KEY });
  await environment.advance(HOUR_MS);
  expect(await world.runtime.status("walk")).toMatchObject({
    status: "completed",
    output: expect.stringMatching(/^stopped at 12\d\d$/) as string,
  });
});

test(
  "above the size limit the beginnings of open turns are removed when no history is left",
  { tags: "long" },
  async () => {
    const world = start({ retainBytes: 30_000 });
    const runId = await count(world, 60);
    await world.environment.advance(HOUR_MS);
    expect(await world.log.size(runId)).toBeLessThan(60_000);
    expect(ofType(await eventsOf(world, runId), "WaitForInput")).toHaveLength(1);
  },
);

test("a run whose open turn needs all that it has is not loaded to look for what is old", async () => {
  const world = start({ retainMs: HOUR_MS });
  const { environment } = world;
  await world.runtime.process("asker", { type: "ChatRequest", input: "", request_id: "asked", ...KEY });
  await environment.idle();
  await world.restart();
  let claims = 0;
  const { log } = world;
  const claim = log.claim.bind(log);
  log.claim = async (...given) => {
    claims += 1;
    return claim(...given);
  };
  await environment.advance(10 * HOUR_MS);
  expect(await world.runtime.status("asked")).toMatchObject({ status: "waiting" });
  expect(claims).toBe(0);
});

async function eventsOf({ runtime }: World, runId: string) {
  const page = await runtime.read({ kind: "run", runId, agent: "counter" }, { after: 0 });
  return page.events.map((text) => JSON.parse(text) as never);
}
