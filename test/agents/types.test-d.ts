import { createRuntime, defineAgent, defineTool, operation } from "troupe";
import type { Turn } from "troupe";
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
