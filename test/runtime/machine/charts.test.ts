import { fromMachine } from "troupe";
import { expect, test } from "vitest";
import { assign, createMachine, setup } from "xstate";
import { z } from "zod";
import { TestHost, asked, chat } from "../test-host.ts";

const none = z.object({});

const machine = setup({
  types: { context: {} as { readonly paid: boolean } },
  guards: { isPaid: ({ context }) => context.paid },
  actions: { pay: assign({ paid: true }) },
}).createMachine({
  id: "shop",
  context: { paid: false },
  initial: "open",
  states: {
    open: { description: "Takes an order.", on: { chat: "checkout", abort: undefined } },
    checkout: {
      tags: "wait",
      meta: { request_keys: { ok: "Buy?" } },
      type: "parallel",
      states: {
        money: {
          initial: "due",
          states: { due: { on: { resume: { target: "paid", actions: "pay" } } }, paid: {} },
        },
        box: { initial: "empty", states: { empty: { after: { 10_000: "packed" } }, packed: {} } },
      },
      always: { guard: "isPaid", target: "end" },
      on: { abort: "end" },
    },
    end: { type: "final" },
  },
});

const shop = fromMachine({
  name: "shop",
  purpose: "Sells.",
  machine,
  operations: { abort: { input: none }, book: { input: none } },
});

test("the description of a machine has its chart", () => {
  const host = new TestHost({ agents: [shop] });
  const { statechart } = host.runtime.describe("shop");
  expect(statechart).toEqual({
    hash: expect.stringMatching(/^[0-9a-f]{16}$/u) as string,
    root: {
      id: "",
      type: "compound",
      initial: "open",
      states: [
        {
          id: "open",
          type: "atomic",
          description: "Takes an order.",
          states: [],
          edges: [{ event: "chat", to: "checkout" }],
        },
        {
          id: "checkout",
          type: "parallel",
          tags: ["wait"],
          states: [
            {
              id: "checkout.money",
              type: "compound",
              initial: "checkout.money.due",
              states: [
                {
                  id: "checkout.money.due",
                  type: "atomic",
                  states: [],
                  edges: [{ event: "resume", to: "checkout.money.paid", actions: ["pay"] }],
                },
                { id: "checkout.money.paid", type: "atomic", states: [], edges: [] },
              ],
              edges: [],
            },
            {
              id: "checkout.box",
              type: "compound",
              initial: "checkout.box.empty",
              states: [
                {
                  id: "checkout.box.empty",
                  type: "atomic",
                  states: [],
                  edges: [{ event: "after 10000", to: "checkout.box.packed" }],
                },
                { id: "checkout.box.packed", type: "atomic", states: [], edges: [] },
              ],
              edges: [],
            },
          ],
          edges: [
            { event: "abort", to: "end" },
            { to: "end", guard: "isPaid" },
          ],
        },
        { id: "end", type: "final", states: [], edges: [] },
      ],
      edges: [],
    },
  });
});

test("the hash of a chart changes with the chart only", () => {
  const hashOf = (states: object): unknown =>
    new TestHost({
      agents: [
        fromMachine({
          name: "one",
          purpose: "Has a chart.",
          machine: createMachine({ initial: "a", states: { a: {}, ...states } }),
        }),
      ],
    }).runtime.describe("one").statechart?.hash;
  expect(hashOf({ b: {} })).toBe(hashOf({ b: {} }));
  expect(hashOf({ b: {} })).not.toBe(hashOf({ c: {} }));
});

test("the status of a request has the machine's state and the operations that it takes", async () => {
  const host = new TestHost({ agents: [shop] });
  await host.ask("shop", chat);
  expect(await host.runtime.status(asked)).toMatchObject({
    state: { checkout: { money: "due", box: "empty" } },
    accepts: ["abort"],
  });
  await host.restart();
  await host.environment.advance(10_000);
  expect(await host.runtime.status(asked)).toMatchObject({
    state: { checkout: { money: "due", box: "packed" } },
    accepts: ["abort"],
  });
  await host.ask("shop", { type: "ResumeWithInput", request_id: asked, request_keys: { ok: true } });
  const ended = await host.runtime.status(asked);
  expect(ended).toMatchObject({ status: "completed", state: "end" });
  expect(ended).not.toHaveProperty("accepts");
});

test.each([
  ["a path", { ["x".repeat(600)]: {} }, /a state of agent big has a path of 602 bytes; at most 512 are/u],
  [
    "all names",
    Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`${at}${"x".repeat(40)}`, {}])),
    /the states of agent big have names of \d+ bytes together; at most 65536 are/u,
  ],
])("a chart whose names do not fit into an event is refused at its definition: %s", (_, states, error) => {
  const big = createMachine({ initial: "a", states: { a: {}, ...states } });
  expect(() => fromMachine({ name: "big", purpose: "Is too big.", machine: big })).toThrow(error);
});
