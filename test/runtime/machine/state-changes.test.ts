import { defineAgent, fromMachine } from "troupe";
import { expect, test } from "vitest";
import { assign, createMachine, emit, fromPromise, raise, setup } from "xstate";
import { ofType } from "../../agents/events.ts";
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
