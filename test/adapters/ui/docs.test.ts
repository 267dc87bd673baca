/** @module-tag long */
import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { assistant } from "../../../agents/assistant.ts";
import { echo } from "../../../agents/echo.ts";
import { readTypeScript, root } from "../../docs/blocks.ts";
import { UiServer } from "./harness/server.ts";

test("the clients of the page talk to a server", async () => {
  await using server = await UiServer.start([echo, assistant]);
  const [, ...clients] = readTypeScript("docs/protocols/ui.md");
  const printed = ["text: 'to be or not to be'", "text: 'lamp: on'", "text: 'that is the question'"];
  expect(clients).toHaveLength(printed.length);
  for (const [index, client] of clients.entries()) {
    // Here it finds the packages of the repository.
    const program = join(root, `test/adapters/ui/client-${process.pid}-${index}.gen.ts`);
    onTestFinished(() => rm(program, { force: true }));
    await writeFile(program, client.replace("http://localhost:4100", server.url));
    const { stdout } = await promisify(execFile)(process.execPath, [program]);
    expect(stdout).toContain(printed[index]);
  }
});
