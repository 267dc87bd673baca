/** @module-tag long */
import { execFile } from "node:child_process";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { readTypeScript, root } from "../../docs/blocks.ts";

test("the client of the page talks to an agent that it starts", async () => {
  const [client = ""] = readTypeScript("docs/protocols/acp.md");
  // Here it finds the packages of the repository.
  const cwd = join(root, `test/adapters/acp/client-${process.pid}.gen`);
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  await mkdir(join(cwd, "agents"), { recursive: true });
  await cp(join(root, "agents/echo.ts"), join(cwd, "agents/echo.ts"));
  const command = `"${process.execPath}", ["${join(root, "dist/cli/main.js")}", `;
  expect(client).toContain('"npx", ["troupe", ');
  await writeFile(join(cwd, "client.ts"), client.replace('"npx", ["troupe", ', command));
  const { stdout } = await promisify(execFile)(process.execPath, ["client.ts"], { cwd });
  expect(stdout).toBe("hello\n");
});
