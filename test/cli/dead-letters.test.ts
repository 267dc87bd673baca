/** @module-tag long */
import { expect, test } from "vitest";
import { start } from "../client/servers.ts";
import { createWorkshop } from "../agents/letters.ts";
import { createProject, startCommand } from "./command.ts";

test("dead letters are listed as a table and as JSON, sent again, and dismissed", async () => {
  const workshop = createWorkshop();
  await using server = await start({ agents: workshop.agents });
  const cwd = await createProject({});
  const run = async (...args: readonly string[]): Promise<readonly [string | number, string]> => {
    const command = startCommand(["dead-letters", ...args, "--url", server.url], { cwd });
    return [await command.exited, command.output()];
  };
  expect(await run()).toEqual([0, expect.stringContaining("there is no dead letter")]);
  const tell = async (item: string): Promise<void> => {
    await server.runtime.process("boss", { type: "OperationRequest", operation: "order", input: { item } });
  };
  for (const item of ["a lamp", "a chair"]) await tell(item);
  await expect.poll(async () => (await server.runtime.deadLetters()).length).toBe(2);
  const [code, table] = await run("list");
  expect(code).toBe(0);
  expect(table).toMatch(/REQUEST +FOR +WHAT +WHY/);
  expect(table).toContain("worker (w)");
  expect(table).toContain("the tool broke");
  const [, json] = await run("list", "--json");
  const letters = json
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly request_id: string });
  expect(letters).toHaveLength(2);

  workshop.isBroken = false;
  const [id = ""] = letters.map(({ request_id: requestId }) => requestId);
  expect(await run("resend", id)).toEqual([0, expect.stringMatching(/ is sent again as request again_/)]);
  await expect.poll(() => workshop.works).toBe(1);
  expect(await run("resend", "never-told")).toEqual([
    66,
    expect.stringContaining("no dead letter never-told"),
  ]);
  expect(await run("dismiss")).toEqual([2, expect.stringContaining("or --all")]);
  expect(await run("dismiss", "--all")).toEqual([0, expect.stringContaining("is dismissed")]);
  expect(await server.runtime.deadLetters()).toEqual([]);
});
