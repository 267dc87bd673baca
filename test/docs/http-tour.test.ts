/** @module-tag long */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProject, startCommand } from "../cli/command.ts";
import { skipWithoutCurl } from "../machine/skip-without.ts";
import { canRunBlocks, findBlocks, root, runBlock, toDataLines, toEvents } from "./blocks.ts";
import type { BlockEvent } from "./blocks.ts";

test("the curl tour works as described", async ({ skip }) => {
  if (!canRunBlocks) skipWithoutCurl(skip);
  const cwd = await createProject({});
  const command = startCommand(["dev", "--port=0", `--agents=${join(root, "agents")}`], { cwd });
  const [, address = ""] = await command.match(/http:\/\/(127\.0\.0\.1:\d+)/);
  const run = (heading: string, block = 0): Promise<string> =>
    runBlock(findBlocks("docs/guide/http.md", `## ${heading}`, "sh")[block], address, cwd);

  const lookAround = await run("Look around");
  expect(lookAround).toContain('{"name":"echo","path":"/echo"}');
  expect(lookAround).toContain('"name":"payments"');

  const streamed = toEvents(await run("Stream an answer"));
  expect(streamed[0]).toMatchObject({ id: 1, type: "RequestStarted" });
  expect(streamed.at(-1)).toMatchObject({ type: "RequestCompleted", result: "to be or not to be" });

  expect(await run("Talk twice in one run")).toContain(JSON.stringify("1. buy milk\n2. call Ada"));

  const asked = await run("Answer an agent that asks");
  expect(asked).toContain('"request_keys":{"approved":"Pay 30 to bob?"}');
  expect(asked).toContain('"status":"waiting"');
  expect(asked).toContain('"output":{"receipt":"bob:30"}');

  const killed = await run("Kill the server while an agent waits");
  expect(command.output()).toContain("restarting it");
  expect(killed).toContain('"status":"waiting"');
  expect(killed).toContain('"finish_reason":"success"');
  const history = JSON.parse(/\[\{"id":1,.*\]$/s.exec(killed.trim())?.[0] ?? "[]") as readonly BlockEvent[];
  expect(history.map(({ id }) => id)).toEqual(history.map((_, index) => index + 1));
  expect(history.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });

  const [, kills] = await Promise.all([run("Kill it", 0), run("Kill it", 1)]);
  expect(kills).toContain("killed for the second time");
  expect(kills).toMatch(/every tick once$/m);

  const paid = await run("Talk to a model");
  expect(paid).toContain('"request_keys":{"approved":"Pay 2 to bob?"}');
  expect(paid).toContain('"result":"6 / 3 is 2. bob was paid, receipt bob:2."');

  expect(await run("Cancel")).toContain('"finish_reason":"canceled"');

  await run("Follow from two terminals", 0);
  const resumed = await run("Follow from two terminals", 1);
  const first = await readFile(join(cwd, "first.txt"), "utf8");
  const second = await readFile(join(cwd, "second.txt"), "utf8");
  expect(toEvents(second).at(-1)?.type).toBe("TextOutput");
  expect(toDataLines(second + resumed)).toEqual(toDataLines(first));
  expect(toEvents(first).at(-1)).toMatchObject({ type: "RequestCompleted" });

  const forked = await run("Try again from a point");
  expect(forked).toContain(JSON.stringify("1. buy milk\n2. call Ada"));
  expect(forked).toMatch(/"turns":2,"forked_from":\{"run_id":"run_[\w-]+","id":3\}/);

  await run("Download what an agent made");
  expect((await readFile(join(cwd, "moon.pdf"))).subarray(0, 5).toString()).toBe("%PDF-");
});
