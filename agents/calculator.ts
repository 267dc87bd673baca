import { defineAgent, defineTool, operation } from "troupe";
import type { Operation } from "troupe";
import { z } from "zod";

const numbers = z.object({ a: z.number(), b: z.number() });
const answer = z.object({ value: z.number() });

const add = arithmetic("Adds two numbers.", (a, b) => a + b);
const subtract = arithmetic("Subtracts b from a.", (a, b) => a - b);
const multiply = arithmetic("Multiplies two numbers.", (a, b) => a * b);
const divide = arithmetic("Divides a by b.", (a, b) => {
  if (b === 0) throw new Error("a number cannot be divided by zero");
  return a / b;
});

const toolBySign = new Map([
  ["+", defineTool({ ...add, name: "add", effect: "idempotent" })],
  ["-", defineTool({ ...subtract, name: "subtract", effect: "idempotent" })],
  ["*", defineTool({ ...multiply, name: "multiply", effect: "idempotent" })],
  ["/", defineTool({ ...divide, name: "divide", effect: "idempotent" })],
]);

/** Calculates with two numbers; a chat calls the agent's own tools. */
export const calculator = defineAgent({
  name: "calculator",
  purpose: "Adds, subtracts, multiplies and divides two numbers.",
  tools: [...toolBySign.values()],
  operations: { add, subtract, multiply, divide },

  async chat(input, turn) {
    const [, a, sign = "", b] = /^\s*(-?\d+(?:\.\d+)?)\s*(\S)\s*(-?\d+(?:\.\d+)?)\s*$/.exec(input) ?? [];
    const tool = toolBySign.get(sign);
    if (!tool) {
      await turn.text('Give me two numbers with +, -, * or / between them, as in "6 * 7".');
      return;
    }
    try {
      const { value } = await turn.tool(tool, { a: Number(a), b: Number(b) });
      await turn.text(`= ${value}`);
    } catch (error) {
      await turn.text(`That has no answer: ${error instanceof Error ? error.message : "the tool failed"}.`);
    }
  },
});

function arithmetic(
  description: string,
  calculate: (a: number, b: number) => number,
): Operation<z.infer<typeof numbers>, z.infer<typeof answer>> {
  return operation({
    description,
    input: numbers,
    output: answer,
    run: ({ a, b }) => ({ value: calculate(a, b) }),
  });
}
