import { fromMachine, operation } from "troupe";
import { expect, test } from "vitest";
import { assign, fromPromise, setup } from "xstate";
import { z } from "zod";
import { TestHost } from "../test-host.ts";

const machine = setup({
  types: {
    context: {} as { readonly total: number },
    events: {} as
      | { readonly type: "add"; readonly amount: number }
      | { readonly type: "close" }
      | { readonly type: "resume"; readonly sure: boolean },
  },
  actors: { forever: fromPromise(() => new Promise<void>(() => {})) },
}).createMachine({
  initial: "open",
  context: { total: 0 },
  states: {
    open: {
      on: {
        add: { actions: assign({ total: ({ context, event }) => context.total + event.amount }) },
        close: "asking",
      },
    },
    asking: {
      tags: "wait",
      meta: { request_keys: { sure: "Close it?" }, schema: z.object({ sure: z.boolean() }) },
      on: {
        add: { actions: assign({ total: ({ context, event }) => context.total + event.amount }) },
        resume: "working",
      },
    },
    working: { invoke: { src: "forever" } },
  },
});

const till = fromMachine({
  name: "till",
  purpose: "Adds up.",
  machine,
  operations: { add: operation({ input: z.object({ amount: z.number() }) }), close: operation({}) },
  reads: {
    total: ({ context }) => context.total,
    where: ({ value }) => value as string,
  },
});

const key = "one";

test("a chart is read before its first event, while it asks, with a call open, and in a later process", async () => {
  const host = new TestHost({ agents: [till], limits: { idleRuns: 0 } });
  const read = async (): Promise<readonly unknown[]> => {
    const both = Promise.all([
      host.runtime.ask(till, "total", {}, { key }),
      host.runtime.ask(till, "where", {}, { key }),
    ]);
    await host.environment.idle();
    return both;
  };
  const send = (operation: string, input: object, request_id: string): Promise<unknown> =>
    host.ask("till", {
      type: "OperationRequest",
      operation,
      input: input as never,
      key,
      request_id,
    });

  expect(await read()).toEqual([0, "open"]);
  await send("add", { amount: 2 }, "first");
  expect(await read()).toEqual([2, "open"]);
  await send("close", {}, "close");
  expect(await read()).toEqual([2, "asking"]);
  await send("add", { amount: 3 }, "second");
  expect(await read()).toEqual([5, "asking"]);
  host.crash();
  await host.restart();
  expect(await read()).toEqual([5, "asking"]);
  await host.ask("till", { type: "ResumeWithInput", request_id: "close", request_keys: { sure: true } });
  expect(await read()).toEqual([5, "working"]);
  expect(await host.runtime.status("close")).toMatchObject({ status: "running", accepts: [] });
});
