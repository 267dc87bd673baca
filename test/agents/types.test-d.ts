import { createRuntime, defineAgent, defineTool, operation } from "troupe";
import type { Event, RequestId, RunId, Runtime, Turn } from "troupe";
import type { Client } from "troupe/client";

import { expectTypeOf } from "vitest";
import { z } from "zod";
import { calculator } from "../../agents/calculator.ts";
import { payments } from "../../agents/payments.ts";
import { researcher } from "../../agents/researcher.ts";

declare const turn: Turn;

// Checked by the compiler alone: what a schema says is what a handler and its caller see.

operation({
  input: z.object({ to: z.string(), amount: z.number().default(1) }),
  run: (input) => expectTypeOf(input).toEqualTypeOf<{ to: string; amount: number }>(),
});

// @ts-expect-error The handler gives another kind of value than the operation promises.
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

// Agents of all kinds go together.
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
await client.process({ type: "ChatRequest", input: "", run_id: id, request_id: id, attachments: [id] });
await client.resume(id, {});
await client.cancel(id);
client.stream(id);

declare const requestId: RequestId;
// @ts-expect-error A request is no run.
await runtime.removeRun(requestId);

// The type of an event says whether it belongs to a request.
declare const event: Event;
if (event.type === "TextOutput") expectTypeOf(event.request_id).toEqualTypeOf<RequestId>();
if (event.type === "RunCreated") expectTypeOf(event.request_id).toEqualTypeOf<null>();
if (event.type === "WaitForInput") expectTypeOf(event.wait_id).toEqualTypeOf<number>();
expectTypeOf(event.run_id).toEqualTypeOf<RunId>();
