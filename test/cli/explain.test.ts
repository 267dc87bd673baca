import { expect, test } from "vitest";
import { PROBLEM_CODES } from "../../src/protocol/answers/problem.ts";
import { createProject, startCommand } from "./command.ts";

test("explain prints the page of an error code without a server, lists all, and knows a near one", async () => {
  const cwd = await createProject({});
  const explain = async (...args: readonly string[]): Promise<readonly [unknown, string]> => {
    const command = startCommand(["explain", ...args], { cwd, env: { TROUPE_URL: "http://127.0.0.1:1" } });
    return [await command.exited, command.output()];
  };
  const [code, text] = await explain("would_deadlock");
  expect(code).toBe(0);
  expect(text).toMatch(/^would_deadlock\nCause: .*\.\n(Look at: .*\n)?Do: .*\.\n$/);

  const [, list] = await explain();
  const known = list.split("\n").map((line) => line.split(" ", 1)[0]);
  expect(PROBLEM_CODES.filter((problem) => !known.includes(problem))).toEqual([]);

  expect(await explain("would_deadlok")).toEqual([
    66,
    expect.stringContaining("did you mean would_deadlock?"),
  ]);
});
