import { join } from "node:path";
import { readFile, readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { chat, createProject, startCommand, startProgram } from "../cli/command.ts";
import { skipWithoutCurl } from "../machine/skip-without.ts";
import { canRunBlocks, findBlocks, root, runBlock } from "./blocks.ts";

test("the readme contains the two commands", () => {
  expect(findBlocks("README.md", "## Start", "sh")).toEqual([
    "npm ci && npm start\n",
    "npm ci && npm test\n",
  ]);
});

test("the smallest program runs unchanged", async () => {
  const [code = ""] = findBlocks("README.md", "## The smallest program", "ts");
  const cwd = await createProject({ "hello.ts": code.replace("port: 4100", "port: 0") });
  const program = startProgram(process.execPath, ["hello.ts"], { cwd });
  const [url] = await program.match(/http:\/\/\S+/);
  expect((await chat(url, "hello", { input: "Ada" })).result).toBe("Hello, Ada!");
});

test("a question survives a kill as described", { tags: "long" }, async ({ skip }) => {
  if (!canRunBlocks) skipWithoutCurl(skip);
  const cwd = await createProject({});
  const command = startCommand(["dev", "--port=0", `--agents=${join(root, "agents")}`], { cwd });
  const [, address = ""] = await command.match(/http:\/\/(127\.0\.0\.1:\d+)/);
  const [ask, answer] = findBlocks("README.md", "## See it survive", "sh");
  expect(await runBlock(ask, address, cwd)).toContain('"request_keys":{"approved":"Pay 30 to bob?"}');
  expect(await runBlock(answer, address, cwd)).toContain('"output":{"receipt":"bob:30"}');
});

test("no two pages name the same request, so that one server can run all of them", async () => {
  const guide = (await readdir(join(root, "docs/guide"))).map((page) => `docs/guide/${page}`);
  const pagesById = new Map<string, Set<string>>();
  for (const page of ["README.md", ...guide]) {
    const text = await readFile(join(root, page), "utf8");
    for (const [, id = ""] of text.matchAll(/(?:"request_id":|"id":|--request-id )"?([a-z]+-\d+)\b/g))
      pagesById.set(id, (pagesById.get(id) ?? new Set()).add(page));
  }
  expect(pagesById.size).toBeGreaterThan(10);
  expect([...pagesById].filter(([, pages]) => pages.size > 1)).toEqual([]);
});
