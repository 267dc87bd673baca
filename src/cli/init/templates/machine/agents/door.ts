import { fromMachine } from "troupe";
import { assign, emit, setup } from "xstate";
import { z } from "zod";

// An XState machine is an agent. Each state that it reaches is in the log: after a crash it continues where it was.
const machine = setup({
  types: {
    context: {} as { readonly visitor: string },
    events: {} as
      | { readonly type: "ring"; readonly visitor: string }
      | { readonly type: "resume"; readonly allowed: boolean },
    emitted: {} as { readonly type: "TextOutput"; readonly content: string },
    output: {} as { readonly opened: boolean },
  },
  // A machine speaks by emitting an event of the protocol.
  actions: { say: emit((_, content: string) => ({ type: "TextOutput", content })) },
  guards: { allowed: ({ event }) => event.type === "resume" && event.allowed },
}).createMachine({
  context: { visitor: "somebody" },
  initial: "closed",
  states: {
    closed: {
      on: { ring: { target: "asking", actions: assign({ visitor: ({ event }) => event.visitor }) } },
    },
    // A state with the tag "wait" asks a human; the answer arrives as the event "resume".
    asking: {
      tags: "wait",
      meta: { request_keys: { allowed: "Open the door?" }, schema: z.object({ allowed: z.boolean() }) },
      on: { resume: [{ guard: "allowed", target: "opened" }, { target: "refused" }] },
    },
    opened: {
      entry: { type: "say", params: ({ context }) => `Welcome, ${context.visitor}.` },
      type: "final",
      output: true,
    },
    refused: {
      entry: { type: "say", params: ({ context }) => `Sorry, ${context.visitor}.` },
      type: "final",
      output: false,
    },
  },
  output: ({ event }) => ({ opened: "output" in event && event.output === true }),
});

export const door = fromMachine({
  name: "door",
  purpose: "Opens the door once a human allows it.",
  machine,
  operations: {
    ring: { description: "Rings the bell.", input: z.object({ visitor: z.string().min(1) }) },
  },
});
