import { agentActor, createRuntime, defineAgent, defineTool, fromMachine, operation } from "troupe";
import type { Event, JsonObject, RequestId, RunId, Runtime, Turn } from "troupe";
import type { Client } from "troupe/client";

import { expectTypeOf } from "vitest";
import { createMachine } from "xstate";
import type { PromiseActorLogic } from "xstate";
import { z } from "zod";
import { calculator } from "../../agents/calculator.ts";
import { payments } from "../../agents/payments.ts";
import { researcher } from "../../agents/researcher.ts";

declare const turn: Turn;

// Only type-checked: handlers and callers see the types of the schemas.

operation({
  input: z.object({ to: z.string(), amount: z.number().default(1) }),
  run: (input) => expectTypeOf(input).toEqualTypeOf<{ to: string; amount: number }>(),
});

// @ts-expect-error The handler returns another type than the operation declares.
operation({ input: z.string(), output: z.object({ receipt: z.string() }), run: () => ({ receipt: 1 }) });

const paid = await turn.call(payments, "pay", { to: "bob", amount: 3 });
expectTypeOf(paid).toEqualTypeOf<{ receipt?: string | undefined }>();

const sum = await turn.call(calculator, "add", { a: 1, b: 2 });
expectTypeOf(sum).toEqualTypeOf<{ value: number }>();

const report = await turn.call(researcher, "chat", { input: "the moon" });
expectTypeOf(report.output).toEqualTypeOf<string>();

// @ts-expect-error There is no such operation.
await turn.call(payments, "refund", { to: "bob", amount: 3 });

// @ts-expect-error The amount is missing.
await turn.call(payments, "pay", { to: "bob" });

// @ts-expect-error The amount is a number.
await turn.call(payments, "pay", { to: "bob", amount: "3" });

const length = defineTool({
  name: "length",
  description: "Counts the letters of a text.",
  input: z.object({ text: z.string() }),
  run: ({ text }) => ({ letters: text.length }),
});

const measured = await turn.tool(length, { text: "moon" });
expectTypeOf(measured).toEqualTypeOf<{ letters: number }>();

// @ts-expect-error The text is a string.
await turn.tool(length, { text: 4 });

const typed = await turn.waitForInput(z.object({ approved: z.boolean() }));
expectTypeOf(typed).toEqualTypeOf<{ approved: boolean }>();

const untyped = await turn.waitForInput({ name: "What is your name?" });
expectTypeOf(untyped).not.toBeAny();

const branches = await turn.all([
  (branch) => branch.tool(length, { text: "moon" }),
  async (branch) => branch.random() < 0.5,
]);
expectTypeOf(branches).toEqualTypeOf<[{ letters: number }, boolean]>();

const fetched = await turn.effect("fetch", async ({ callId }) => ({ key: callId.length }));
expectTypeOf(fetched).toEqualTypeOf<{ key: number }>();

// @ts-expect-error A log cannot hold a date.
await turn.effect("today", () => new Date());

// Agents of all kinds can be combined.
createRuntime({ agents: [payments, calculator, researcher, length] });
defineAgent({ name: "boss", purpose: "Has others work.", tools: [payments, length], chat: (input) => input });

// An id that a program reads from its own database is a plain string.
declare const client: Client;
declare const runtime: Runtime;
declare const id: string;
await runtime.status(id);
await runtime.fork(id, { after: 0 });
await runtime.removeRun(id);
await runtime.artifact(id);
await runtime.process("echo", { type: "CancelRequest", request_id: id });
await client.agent("echo").chat("", { runId: id, requestId: id, attachments: [id] });
await client.request(id).cancel();
client.run(id).events();

// The operations of an agent have the types of its schemas, without its code.
const remote = client.agent<typeof payments>("payments");
expectTypeOf(await remote.call("pay", { to: "bob", amount: 3 })).toEqualTypeOf<{
  receipt?: string | undefined;
}>();
expectTypeOf(await remote.chat("pay 3 to bob")).toEqualTypeOf<string>();
expectTypeOf(await remote.call("chat", { input: "hi" })).toEqualTypeOf<{ readonly output: string }>();
// @ts-expect-error The amount must be a number.
remote.call("pay", { to: "bob", amount: "3" });
// @ts-expect-error It has no such operation.
remote.call("refund", {});
expectTypeOf(await client.agent("payments").call("pay", { to: 1 })).toEqualTypeOf<unknown>();

declare const requestId: RequestId;
// @ts-expect-error A request id is not a run id.
await runtime.removeRun(requestId);

// The type of an event shows whether it belongs to a request.
declare const event: Event;
if (event.type === "TextOutput") expectTypeOf(event.request_id).toEqualTypeOf<RequestId>();
if (event.type === "RunCreated") expectTypeOf(event.request_id).toEqualTypeOf<null>();
if (event.type === "WaitForInput") expectTypeOf(event.wait_id).toEqualTypeOf<number>();
expectTypeOf(event.run_id).toEqualTypeOf<RunId>();

// A schema has two types: the caller's input and the parsed value.
const shop = defineAgent({
  name: "shop",
  purpose: "Sells things.",
  operations: {
    order: operation({
      input: z.object({
        item: z.string(),
        count: z.number().default(1),
        by: z.string().transform((day) => new Date(day)),
      }),
      output: z.object({ total: z.string().transform(Number) }),
      run(input) {
        expectTypeOf(input).toEqualTypeOf<{ item: string; count: number; by: Date }>();
        return { total: "12" };
      },
    }),
  },
});
const order = await turn.call(shop, "order", { item: "apple", by: "2026-01-31" });
expectTypeOf(order).toEqualTypeOf<{ total: number }>();

const repeat = defineTool({
  name: "repeat",
  description: "Repeats a text.",
  input: z.object({ text: z.string(), times: z.number().default(2) }),
  run: ({ text, times }) => text.repeat(times),
});
expectTypeOf(await turn.tool(repeat, { text: "a" })).toEqualTypeOf<string>();
// @ts-expect-error The text is missing.
await turn.tool(repeat, {});

// The declarations of an agent type the turn of its chat and of its operations.
defineAgent({
  name: "host",
  purpose: "Welcomes guests.",
  config: z.object({ greeting: z.string().default("Hello"), stars: z.number().optional() }),
  memorySchema: z.object({ guests: z.array(z.string()) }).default({ guests: [] }),
  uses: { length },
  async chat(name, own) {
    expectTypeOf(own.config).toEqualTypeOf<{ greeting: string; stars?: number | undefined }>();
    expectTypeOf(own.memory.get()).toEqualTypeOf<{ guests: string[] }>();
    own.memory.set({ guests: [name] });
    // @ts-expect-error Guests are names.
    own.memory.set({ guests: [1] });
    const [measured] = await own.all([
      (branch) => branch.tool(branch.uses.length, { text: branch.config.greeting }),
    ]);
    expectTypeOf(measured).toEqualTypeOf<{ letters: number }>();
  },
  operations: (operation) => ({
    welcome: operation({
      input: z.object({ name: z.string() }),
      output: z.object({ guests: z.number() }),
      async run({ name }, own) {
        expectTypeOf(own.config.greeting).toEqualTypeOf<string>();
        expectTypeOf(await own.tool(own.uses.length, { text: name })).toEqualTypeOf<{ letters: number }>();
        return { guests: own.memory.get().guests.length };
      },
    }),
  }),
});

defineAgent({
  name: "counter",
  purpose: "Counts.",
  memorySchema: z.number(),
  chat(_, own) {
    expectTypeOf(own.memory.get()).toEqualTypeOf<number | undefined>();
    expectTypeOf(own.config).toEqualTypeOf<JsonObject>();
  },
});

// A machine's agent keeps the types of its operations.
const machine = fromMachine({
  name: "machine",
  purpose: "Has typed operations.",
  machine: createMachine({}),
  operations: {
    book: operation({
      input: z.object({ item: z.string().optional() }),
      output: z.object({ booked: z.boolean() }),
    }),
    abort: operation({}),
  },
});
expectTypeOf(await turn.call(machine, "book", { item: "lamp" })).toEqualTypeOf<{ booked: boolean }>();
await turn.call(machine, "abort", {});
expectTypeOf((await turn.call(machine, "chat", { input: "" })).output).toEqualTypeOf<string>();

// @ts-expect-error The item is a text.
await turn.call(machine, "book", { item: 3 });

// An actor of a machine has the types of what it calls.
expectTypeOf(agentActor(payments, "pay")).toEqualTypeOf<
  PromiseActorLogic<
    { receipt?: string | undefined },
    { to: string; amount: number; within_s?: number | undefined }
  >
>();
