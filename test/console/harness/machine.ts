import { fromMachine } from "troupe";
import { assign, emit, setup } from "xstate";
import { z } from "zod";

const machine = setup({
  types: {
    events: {} as
      | { readonly type: "chat"; readonly input: string }
      | { readonly type: "resume"; readonly agreed: boolean }
      | { readonly type: "skip" },
    emitted: {} as { readonly type: "TextOutput"; readonly content: string },
  },
  actions: { say: emit((_, content: string) => ({ type: "TextOutput", content })) },
  guards: { agreed: ({ event }) => event.type === "resume" && event.agreed },
  delays: { baking: 40, cooling: 60 },
}).createMachine({
  initial: "checkout",
  states: {
    checkout: {
      initial: "price",
      states: {
        price: {
          initial: "open",
          states: { open: { on: { chat: "asking" } }, asking: { always: "#ask" } },
        },
        consent: {
          id: "ask",
          tags: "wait",
          meta: { request_keys: { agreed: "Bake it?" }, schema: z.object({ agreed: z.boolean() }) },
          on: { resume: [{ guard: "agreed", target: "#work" }, { target: "price" }] },
        },
      },
      on: { skip: { target: "work" } },
    },
    work: {
      id: "work",
      type: "parallel",
      states: {
        oven: {
          initial: "baking",
          states: { baking: { after: { baking: "baked" } }, baked: { type: "final" } },
        },
        table: {
          initial: "laying",
          states: {
            laying: { entry: { type: "say", params: "Laying the table.\n" }, after: { cooling: "laid" } },
            laid: { type: "final" },
          },
        },
      },
      onDone: "served",
    },
    served: { entry: { type: "say", params: "Served.\n" }, type: "final" },
  },
});

/** A machine whose states are nested and parallel, with a question and two delays. */
export const bakery = fromMachine({ name: "bakery", purpose: "Bakes and lays the table.", machine });

const sale = setup({
  types: {
    context: {} as {
      readonly items: readonly string[];
      readonly payment: string;
      readonly card_token: string;
    },
    events: {} as
      | { readonly type: "chat"; readonly input: string }
      | { readonly type: "resume"; readonly sure: boolean },
  },
}).createMachine({
  initial: "open",
  context: { items: [], payment: "none", card_token: "tok-1234" },
  states: {
    open: {
      on: {
        chat: {
          target: "asking",
          actions: assign({ items: ({ event }) => [event.input], payment: "on account" }),
        },
      },
    },
    asking: {
      tags: "wait",
      meta: { request_keys: { sure: "Buy it?" }, schema: z.object({ sure: z.boolean() }) },
      on: { resume: "sold" },
    },
    sold: { type: "final" },
  },
});

/** A machine that keeps what was ordered in its context. */
export const shop = fromMachine({ name: "shop", purpose: "Sells.", machine: sale });
