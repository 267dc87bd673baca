/** @module-tag long */
import { join } from "node:path";
import { createRuntime, defineAgent } from "troupe";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { skipWithoutScript } from "../../machine/skip-without.ts";
import { createProject, hasTerminal, startCommand, startOnTerminal } from "../command.ts";

const ASKS = `import { defineAgent } from "troupe";
export const order = defineAgent({ name: "order", purpose: "Takes an order.", async chat(_input, turn) {
  await turn.waitForInput({ ok: "Is it right?" });
  return "Thanks.";
} });
`;

test("a long command says on a terminal how far it is and what is left, and elsewhere nothing", async ({
  skip,
}) => {
  if (!hasTerminal) skipWithoutScript(skip);
  const cwd = await createProject({ "agents/order.ts": ASKS, "questions.csv": "input\none\ntwo\n" });
  await fill(join(cwd, ".troupe"));

  const check = startOnTerminal(["check"], { cwd });
  await check.match(/\d of 3 turns, [\d.]+ m?s left/);
  await check.match(/3 open turns/);
  expect(await check.exited).toBe(0);

  const copy = startOnTerminal(["copy", "--from", ".troupe", "--to", "new"], { cwd });
  await copy.match(/\d of 3 runs, 0 artifacts, 0\.\d MB, [\d.]+ m?s left/);
  expect(await copy.exited).toBe(0);

  const made = startCommand(["eval", "import", "questions", "questions.csv", "--agent", "order"], { cwd });
  expect(await made.exited).toBe(0);
  const evaluation = startOnTerminal(["eval", "run", "questions", "--timeout", "1"], { cwd });
  await evaluation.match(/1 of 2 cases, [\d.]+ m?s left/);
  await evaluation.exited;

  const piped = startCommand(["check"], { cwd });
  expect(await piped.exited).toBe(0);
  expect(piped.output()).not.toContain("left");
});

/** Makes three turns that wait. */
async function fill(directory: string): Promise<void> {
  const order = defineAgent({
    name: "order",
    purpose: "Takes an order.",
    async chat(_input, turn) {
      await turn.waitForInput({ ok: "Is it right?" });
      return "Thanks.";
    },
  });
  const runtime = createRuntime({ agents: [order], log: sqliteLog(directory) });
  for (const request_id of ["a", "b", "c"])
    await collect(runtime, "order", { type: "ChatRequest", input: "", request_id });
  await runtime.close();
}
