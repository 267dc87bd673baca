import { defineAgent, fromMachine } from "troupe";
import { project } from "troupe/client";
import type { Event } from "troupe/protocol";
import { expect, test } from "vitest";
import { assign, createMachine, emit, fromPromise, raise, sendTo, setup } from "xstate";
import { ofType } from "../../agents/events.ts";
import { atEveryCrash } from "../calls/crashes.ts";
import { TestHost, asked, chat } from "../test-host.ts";

const purpose = "Shows its states.";

const timeOf = (host: TestHost, ms: number): string => new Date(host.environment.now() + ms).toISOString();

test("each event that a machine takes a transition for is one StateChanged between what it said and what it asks", async () => {
  const machine = setup({
    types: { emitted: {} as { readonly type: "TextOutput"; readonly content: string } },
    actors: { price: fromPromise(async () => 3) },
    actions: { say: emit((_, content: string) => ({ type: "TextOutput" as const, content })) },
    delays: { packing: 5_000 },
  }).createMachine({
    id: "shop",
    initial: "open",
    states: {
      open: { on: { chat: { target: "checkout", actions: { type: "say", params: "pricing" } } } },
      checkout: {
        initial: "pricing",
        states: {
          pricing: { invoke: { src: "price", onDone: "asking" } },
          asking: {
            tags: "wait",
            meta: { request_keys: { ok: "Buy?" } },
            on: { resume: "paid", chat: {} },
          },
          paid: { type: "final" },
        },
        onDone: "packing",
      },
      packing: { after: { packing: "sent" } },
      sent: { type: "final" },
    },
  });
  const shop = fromMachine({ name: "shop", purpose, machine });
  const host = new TestHost({ agents: [shop] });
  const until = timeOf(host, 5_000);
  await host.ask("shop", chat);
  await host.ask("shop", { type: "ResumeWithInput", request_id: asked, request_keys: { ok: true } });
  await host.environment.advance(5_000);
  const events = await host.events(asked);

  expect(events.map(({ type }) => type)).toEqual([
    "RequestStarted",
    "TextOutput",
    "StateChanged",
    "ToolCall",
    "ToolResult",
    "StateChanged",
    "WaitForInput",
    "ResumeWithInput",
    "StateChanged",
    "Sleeping",
    "StateChanged",
    "RequestCompleted",
  ]);
  const chart = expect.stringMatching(/^[0-9a-f]{16}$/u) as string;
  const changes = ofType(events, "StateChanged").map(({ value, cause, steps, status }) => ({
    value,
    cause,
    steps,
    status,
  }));
  expect(changes).toEqual([
    {
      value: { checkout: "pricing" },
      cause: "chat",
      steps: [{ from: "open", event: "chat", to: "checkout" }],
      status: "active",
    },
    {
      value: { checkout: "asking" },
      cause: "done price",
      steps: [{ from: "checkout.pricing", event: "done price", to: "checkout.asking" }],
      status: "active",
    },
    {
      value: "packing",
      cause: "resume",
      steps: [
        { from: "checkout.asking", event: "resume", to: "checkout.paid" },
        { from: "checkout", event: "done", to: "packing" },
      ],
      status: "active",
    },
    {
      value: "sent",
      cause: "after packing",
      steps: [{ from: "packing", event: "after packing", to: "sent" }],
      status: "done",
    },
  ]);
  expect(ofType(events, "StateChanged").map((event) => event.chart)).toEqual([chart, chart, chart, chart]);
  expect(new Set(ofType(events, "StateChanged").map((event) => event.chart)).size).toBe(1);
  expect(ofType(events, "Sleeping")).toMatchObject([{ until }]);
});

test("a transition that stays in its state is a step without a target, an ignored event is no step", async () => {
  const machine = createMachine({
    context: { count: 0 },
    initial: "asking",
    states: {
      asking: {
        tags: "wait",
        meta: { request_keys: { more: "More?" } },
        on: {
          chat: { actions: assign({ count: 1 }) },
          resume: [
            { guard: ({ event }) => event["more"] === "again", target: "asking", reenter: true },
            { guard: ({ event }) => event["more"] === "end", target: "end" },
          ],
        },
      },
      end: { type: "final" },
    },
  });
  const host = new TestHost({ agents: [fromMachine({ name: "stays", purpose, machine })] });
  await host.ask("stays", chat);
  for (const more of ["again", "nothing"])
    await host.ask("stays", { type: "ResumeWithInput", request_id: asked, request_keys: { more } });
  const changes = ofType(await host.events(asked), "StateChanged");
  expect(changes.map(({ steps }) => steps)).toEqual([
    [{ from: "asking", event: "chat" }],
    [{ from: "asking", event: "resume", to: "asking" }],
  ]);
});

test("regions, eventless transitions and raised events are named; of more than 32 steps the first are there", async () => {
  const machine = createMachine({
    context: { rounds: 0 },
    type: "parallel",
    states: {
      left: {
        initial: "a",
        states: {
          a: { on: { chat: "b" } },
          b: { always: { target: "c" } },
          c: { entry: raise({ type: "go" }) },
        },
      },
      right: {
        initial: "x",
        states: {
          x: { on: { go: "y" } },
          y: {
            always: [
              {
                guard: ({ context }) => context.rounds < 40,
                target: "y",
                reenter: true,
                actions: assign({ rounds: ({ context }) => context.rounds + 1 }),
              },
              { target: "z" },
            ],
          },
          z: {},
        },
      },
    },
  });
  const host = new TestHost({ agents: [fromMachine({ name: "regions", purpose, machine })] });
  await host.ask("regions", chat);
  const [change] = ofType(await host.events(asked), "StateChanged");
  expect(change).toMatchObject({ value: { left: "c", right: "z" }, cause: "chat", steps_truncated: true });
  expect(change?.steps).toHaveLength(32);
  expect(change?.steps.slice(0, 4)).toEqual([
    { from: "left.a", event: "chat", to: "left.b" },
    { from: "left.b", to: "left.c" },
    { from: "right.x", event: "go", to: "right.y" },
    { from: "right.y", to: "right.y" },
  ]);
});

test("other events that a machine emits are Custom", async () => {
  const machine = setup({
    types: { emitted: {} as { readonly type: "priced"; readonly price: number } | { readonly type: "huge" } },
  }).createMachine({
    initial: "open",
    states: {
      open: { on: { chat: { target: "end", actions: emit({ type: "priced", price: 3 }) } } },
      end: {},
    },
  });
  const host = new TestHost({ agents: [fromMachine({ name: "seller", purpose, machine })] });
  await host.ask("seller", chat);
  expect(ofType(await host.events(asked), "Custom")).toMatchObject([
    { name: "priced", body: { price: 3 }, role: "system", depth: 0 },
  ]);
});

test("an emitted event that is no JSON ends its own turn only", async () => {
  const machine = createMachine({
    initial: "open",
    states: {
      open: { on: { chat: { target: "end", actions: emit({ type: "huge", body: "x".repeat(300_000) }) } } },
      end: {},
    },
  });
  const host = new TestHost({ agents: [fromMachine({ name: "seller", purpose, machine })] });
  await host.ask("seller", chat);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    error: { code: "agent_error", message: "the emitted event huge is larger than 262144 bytes" },
  });
});

test("a machine that ends with an error shows that", async () => {
  const machine = setup({
    actors: {
      fail: fromPromise(async () => {
        throw new Error("no price");
      }),
    },
  }).createMachine({
    initial: "open",
    states: { open: { on: { chat: "pricing" } }, pricing: { invoke: { src: "fail" } } },
  });
  const host = new TestHost({ agents: [fromMachine({ name: "failing", purpose, machine })] });
  await host.ask("failing", chat);
  const events = await host.events(asked);
  expect(ofType(events, "StateChanged").at(-1)).toMatchObject({
    value: "pricing",
    cause: "error fail",
    steps: [],
    status: "error",
  });
  expect(events.at(-1)).toMatchObject({ error: { message: "no price" } });
});

test("a state that is left at once leaves no call and no sleep in the log", async () => {
  const machine = setup({ actors: { price: fromPromise(async () => 3) } }).createMachine({
    initial: "open",
    states: {
      open: { on: { chat: "passing" } },
      passing: { invoke: { src: "price" }, after: { 5_000: "open" }, always: "resting" },
      resting: { after: { 5_000: "end" } },
      end: { type: "final" },
    },
  });
  const host = new TestHost({ agents: [fromMachine({ name: "hasty", purpose, machine })] });
  await host.ask("hasty", chat);
  await host.restart();
  await host.environment.advance(5_000);
  const events = await host.events(asked);
  expect(events.map(({ type }) => type)).toEqual([
    "RequestStarted",
    "StateChanged",
    "Sleeping",
    "StateChanged",
    "RequestCompleted",
  ]);
});

test("a handler's sleep is an event from a second on", async () => {
  const sleeper = defineAgent({
    name: "sleeper",
    purpose: "Sleeps.",
    async chat(_input, turn) {
      await turn.sleep(999);
      await turn.sleep(1_000);
    },
  });
  const host = new TestHost({ agents: [sleeper] });
  const until = timeOf(host, 1_999);
  await host.ask("sleeper", chat);
  await host.environment.advance(999);
  await host.restart();
  await host.environment.advance(1_000);
  expect(ofType(await host.events(asked), "Sleeping")).toMatchObject([
    { call_id: "c1.2", until, role: "system" },
  ]);
});

test("a machine that sends an event to itself does not rest before it", async () => {
  const machine = createMachine({
    initial: "open",
    states: {
      open: { on: { chat: { target: "there", actions: ({ self }) => self.send({ type: "next" }) } } },
      there: { on: { next: "rest" } },
      rest: {},
    },
  });
  const host = new TestHost({ agents: [fromMachine({ name: "self", purpose, machine })] });
  await host.ask("self", chat);
  const events = await host.events(asked);
  expect(ofType(events, "StateChanged").map(({ value }) => value)).toEqual(["there", "rest"]);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
});

const innermost = createMachine({
  id: "innermost",
  initial: "off",
  states: { off: { on: { flip: "on" } }, on: { type: "final" } },
});
const inner = setup({ actors: { innermost, price: fromPromise(async () => 3) } }).createMachine({
  id: "inner",
  initial: "idle",
  invoke: { id: "switch", src: "innermost" },
  states: {
    idle: { on: { go: { target: "pricing", actions: sendTo("switch", { type: "flip" }) } } },
    pricing: { invoke: { src: "price", onDone: "resting" } },
    resting: { after: { 5_000: "over" } },
    over: { type: "final" },
  },
});
const outer = setup({ actors: { inner } }).createMachine({
  id: "outer",
  initial: "open",
  states: {
    open: { on: { chat: "working" } },
    working: {
      invoke: { id: "part", src: "inner", onDone: "end" },
      entry: sendTo("part", { type: "go" }),
    },
    end: { type: "final" },
  },
});
const nested = fromMachine({ name: "nested", purpose, machine: outer, effect: "idempotent" });

test("the transitions of machines inside the machine are StateChanged with their place and their chart", async () => {
  const host = new TestHost({ agents: [nested] });
  await host.ask("nested", chat);
  expect(await host.runtime.status(asked)).toMatchObject({ state: "working", accepts: [] });
  await host.environment.advance(5_000);
  const events = await host.events(asked);
  const charts = host.runtime.describe("nested").statechart;
  const names = new Map([
    [charts?.hash, "outer"],
    ...(charts?.machines ?? []).map(
      ({ hash, root }) =>
        [hash, root.states.some(({ id }) => id === "idle") ? "inner" : "innermost"] as const,
    ),
  ]);
  expect(names.size).toBe(3);
  const changes = events.flatMap((event) =>
    event.type === "StateChanged"
      ? [[names.get(event.chart), event.machine, event.cause, event.value, event.status]]
      : [event.type],
  );
  expect(changes).toEqual([
    "RequestStarted",
    ["inner", "part", "go", "pricing", "active"],
    ["innermost", "part/switch", "flip", "on", "done"],
    ["outer", undefined, "chat", "working", "active"],
    "ToolCall",
    "ToolResult",
    ["inner", "part", "done price", "resting", "active"],
    "Sleeping",
    ["inner", "part", "after 5000", "over", "done"],
    ["outer", undefined, "done inner", "end", "done"],
    "RequestCompleted",
  ]);
  const [, first] = ofType(events, "StateChanged");
  expect(first?.steps).toEqual([{ from: "off", event: "flip", to: "on" }]);
  const views = [...project(events).machines.values()];
  expect(views.map(({ machine, value, status }) => [machine, value, status])).toEqual([
    ["part", "over", "done"],
    ["part/switch", "on", "done"],
    [undefined, "end", "done"],
  ]);
});

test("the states of machines inside the machine are the same after a crash at any commit", async () => {
  const runs = await atEveryCrash({ agents: [nested], to: "nested", stepMs: 2_500, steps: 4 });
  const statesOf = (events: readonly Event[]): unknown =>
    ofType(events, "StateChanged").map(({ machine, cause, value, status }) => [
      machine,
      cause,
      value,
      status,
    ]);
  const [calm] = runs;
  const states = statesOf(calm?.events ?? []);
  for (const { place, events } of runs)
    expect({ place, states: statesOf(events) }).toEqual({ place, states });
  expect(states).toHaveLength(6);
});

test("a machine inside the machine that fails shows that", async () => {
  const broken = createMachine({
    initial: "idle",
    states: { idle: { on: { go: { target: "end", guard: () => fail() } } }, end: {} },
  });
  const fail = (): never => {
    throw new Error("no guard");
  };
  const machine = setup({ actors: { broken } }).createMachine({
    initial: "open",
    states: {
      open: { on: { chat: "working" } },
      working: {
        invoke: { id: "part", src: "broken", onError: "end" },
        entry: sendTo("part", { type: "go" }),
      },
      end: { type: "final" },
    },
  });
  const host = new TestHost({ agents: [fromMachine({ name: "broken", purpose, machine })] });
  await host.ask("broken", chat);
  expect(
    ofType(await host.events(asked), "StateChanged").map(({ machine: place, cause, value, status }) => [
      place,
      cause,
      value,
      status,
    ]),
  ).toEqual([
    ["part", "go", "idle", "error"],
    [undefined, "chat", "working", "active"],
    [undefined, "error broken", "end", "done"],
  ]);
});
