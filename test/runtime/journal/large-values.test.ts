/** @module-tag long */
import { join } from "node:path";
import { expect, test } from "vitest";
import { startProgram } from "../../cli/command.ts";

const PROGRAM = join(import.meta.dirname, "large-value.ts");
const NODE = ["--conditions=troupe-source", "--disable-warning=ExperimentalWarning", PROGRAM];

test.each([
  "text",
  "result",
  "result in an object",
  "result of many values",
  "result of bytes",
  "effect's result",
  "question",
  "call's name",
  "error",
])("a value that is too large is refused before memory is spent on it: %s", async (use) => {
  // Ended by the test: Node itself can hang at the exit of a process that has just used much memory.
  const program = startProgram(process.execPath, [...NODE, use], { cwd: import.meta.dirname });
  const [printed] = await program.match(/^\{.*\}$/m);
  const { mb, end } = JSON.parse(printed) as { readonly mb: number; readonly end: unknown };
  expect(end).toMatchObject({ finish_reason: "error" });
  expect(mb).toBeLessThan(80);
});
