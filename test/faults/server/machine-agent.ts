import { fromMachine } from "troupe";
import type { Agent } from "troupe";
import { assign, emit, fromPromise, setup } from "xstate";
import type { OutsideEffect } from "./outside.ts";

/** A machine with an unsafe effect, a delay, and a question. */
export function createMachineAgent(touch: (deed: OutsideEffect) => Promise<string>): Agent {
  const machine = setup({
    types: {
      context: {} as { readonly key: string },
      events: {} as
        | { readonly type: "chat"; readonly input: string }
        | { readonly type: "resume"; readonly go: string },
      emitted: {} as { readonly type: "TextOutput"; readonly content: string },
      output: {} as string,
    },
    actors: {
      deed: fromPromise(({ input }: { input: { readonly key: string } }) =>
        touch({ kind: "unsafe", key: input.key, requestId: input.key.split("/")[0] ?? "" }),
      ),
    },
    actions: { say: emit((_, content: string) => ({ type: "TextOutput" as const, content })) },
    delays: { pause: 15 },
  }).createMachine({
    context: { key: "" },
    initial: "idle",
    states: {
      idle: {
        on: {
          chat: { target: "working", actions: assign({ key: ({ event }) => `${event.input}/machine` }) },
        },
      },
      working: {
        entry: { type: "say", params: "working\n" },
        invoke: {
          src: "deed",
          input: ({ context }) => ({ key: context.key }),
          onDone: { target: "resting", actions: { type: "say", params: "worked\n" } },
          onError: { target: "resting", actions: { type: "say", params: "failed\n" } },
        },
      },
      resting: { after: { pause: { target: "asking", actions: { type: "say", params: "rested\n" } } } },
      asking: {
        tags: "wait",
        meta: { request_keys: { go: "Go on?" } },
        on: { resume: { target: "done", actions: { type: "say", params: "going on\n" } } },
      },
      done: { type: "final" },
    },
    output: "done",
  });
  return fromMachine({ name: "machine", purpose: "Works, rests, asks.", machine });
}
