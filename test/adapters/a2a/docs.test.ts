import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { readTypeScript, root } from "../../docs/blocks.ts";
import { A2aServer } from "./server.ts";

test("the client of the page talks to a server", async () => {
  await using server = await A2aServer.start([echo]);
  const [, client = ""] = readTypeScript("docs/protocols/a2a.md");
  // Here it finds the packages of the repository.
  const program = join(root, `test/adapters/a2a/client-${process.pid}.gen.ts`);
  onTestFinished(() => rm(program, { force: true }));
  await writeFile(program, client.replace("http://localhost:4100", server.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  expect(stdout).toContain("to be or not to be");
});
