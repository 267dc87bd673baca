/** @module-tag long */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { mcp } from "troupe/adapters/mcp";
import { expect, onTestFinished, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { RestartableServer } from "../restartable-server.ts";

const page = readFileSync(
  join(resolve(import.meta.dirname, "../../.."), "docs/protocols/mcp-server.md"),
  "utf8",
);
const [, , client = ""] = page.split("```ts\n").map((part) => part.slice(0, part.indexOf("```")));

test("the client of the page calls an agent", async () => {
  const server = new RestartableServer([echo], {}, () => mcp());
  await server.listen();
  onTestFinished(() => server[Symbol.asyncDispose]());
  const folder = await mkdtemp(join(import.meta.dirname, "page-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "client.ts");
  await writeFile(file, client.replace("http://localhost:4100", server.url));
  const { stdout } = await promisify(execFile)(process.execPath, [pathToFileURL(file).pathname]);
  expect(stdout).toContain("{ type: 'text', text: 'hello' }");
});
