import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { WIRES } from "../../src/cli/serve/wires.ts";

const root = resolve(import.meta.dirname, "../..");

/** The wires of the package by their names and by those that people give them. */
const NAMES = [...WIRES.filter((name) => name !== "ui" && name !== "tasks"), "acp", "aip", "agui", "useChat"];

test("nothing in the protocol, the runtime and the HTTP interface names another wire", async () => {
  const word = new RegExp(String.raw`\b(?:${NAMES.join("|")})\b`, "i");
  const found: string[] = [];
  for (const path of globSync("src/{protocol,runtime,http}/**/*.ts", { cwd: root })) {
    // The names of model providers are no wires.
    if (path.startsWith("src/runtime/model/")) continue;
    const lines = (await readFile(join(root, path), "utf8")).split("\n");
    for (const [index, line] of lines.entries())
      if (word.test(line)) found.push(`${path}:${index + 1} ${line}`);
  }
  expect(found).toEqual([]);
});
