import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

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
  const { stdout } = await promisify(execFile)(process.execPath, [...NODE, use]);
  const { mb, end } = JSON.parse(stdout) as { readonly mb: number; readonly end: unknown };
  expect(end).toMatchObject({ finish_reason: "error" });
  expect(mb).toBeLessThan(80);
});
