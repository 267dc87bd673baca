import { agentActor, fromMachine, operation } from "troupe";
import { assign, emit, setup } from "xstate";
import { z } from "zod";
import { pdfWriter } from "./pdf-writer.ts";

const machine = setup({
  types: {
    context: {} as { readonly item: string; readonly shipped: boolean },
    events: {} as
      | { readonly type: "book"; readonly item?: string }
      | { readonly type: "abort" }
      | { readonly type: "chat"; readonly input: string }
      | { readonly type: "resume"; readonly confirmed: boolean },
    emitted: {} as { readonly type: "TextOutput"; readonly content: string },
    output: {} as { readonly item: string; readonly shipped: boolean },
  },
  actors: {
    // Another agent, called as a part of this turn.
    note: agentActor(pdfWriter, "chat"),
  },
  actions: {
    say: emit((_, content: string) => ({ type: "TextOutput" as const, content })),
  },
  guards: {
    confirmed: ({ event }) => event.type === "resume" && event.confirmed,
  },
  delays: { packing: 200 },
}).createMachine({
  context: { item: "your order", shipped: false },
  initial: "open",
  states: {
    open: {
      on: {
        book: {
          target: "booked",
          actions: assign({ item: ({ context, event }) => event.item ?? context.item }),
        },
        // A chat "book" becomes that operation; any other chat becomes this event.
        chat: {
          target: "booked",
          actions: assign({
            item: ({ context, event }) => event.input.replace(/^book /, "") || context.item,
          }),
        },
      },
    },
    booked: {
      entry: { type: "say", params: ({ context }) => `Booked ${context.item}.\n` },
      tags: "wait",
      meta: {
        request_keys: { confirmed: "Ship it?" },
        schema: z.object({ confirmed: z.boolean() }),
      },
      on: { resume: [{ guard: "confirmed", target: "packing" }, { target: "canceled" }], abort: "canceled" },
    },
    packing: {
      description: "The delivery note is written while the item is packed.",
      type: "parallel",
      states: {
        box: {
          initial: "filling",
          states: { filling: { after: { packing: "closed" } }, closed: { type: "final" } },
        },
        note: {
          initial: "writing",
          states: {
            writing: {
              invoke: {
                src: "note",
                input: ({ context }) => ({ input: `Delivery note: ${context.item}` }),
                onDone: "written",
                onError: "missing",
              },
            },
            written: { type: "final" },
            missing: { type: "final" },
          },
        },
      },
      onDone: "shipped",
      on: { abort: "canceled" },
    },
    shipped: {
      entry: [
        assign({ shipped: true }),
        { type: "say", params: ({ context }) => `Shipped ${context.item}.\n` },
      ],
      type: "final",
    },
    canceled: {
      entry: { type: "say", params: ({ context }) => `Canceled ${context.item}.\n` },
      type: "final",
    },
  },
  output: ({ context }) => context,
});

/** Books an item, waits for a confirmation, and ships the item with a delivery note. */
export const order = fromMachine({
  name: "order",
  purpose: "Takes an order, asks for a confirmation, and ships it.",
  machine,
  operations: {
    book: operation({
      description: "Books an item; it is shipped after a confirmation.",
      input: z.object({ item: z.string().min(1).optional() }),
    }),
    abort: operation({ description: "Cancels the order, until it is shipped." }),
  },
});
