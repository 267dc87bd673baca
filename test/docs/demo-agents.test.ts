/** @module-tag long */
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { afterLastTest, chat, createProject, main, startCommand, startProgram } from "../cli/command.ts";
import type { RunningCommand } from "../cli/command.ts";
import { skipWithoutCurl } from "../machine/skip-without.ts";
import { canRunBlocks, findBlocks, root, runBlock, toEvents } from "./blocks.ts";

/** A server with the agents of the repository. */
let server: RunningCommand;
let cwd = "";
let address = "";
const atEnd = afterLastTest();
beforeAll(async () => {
  cwd = await createProject({}, atEnd);
  const args = ["serve", "--port=0", "--aip=127.0.0.1:0", `--agents=${join(root, "agents")}`];
  server = startCommand(args, { cwd, atEnd });
  [, address = ""] = await server.match(/http:\/\/(127\.0\.0\.1:\d+)/);
});

test("one payment goes through seven protocols as described", async ({ skip }) => {
  if (!canRunBlocks) skipWithoutCurl(skip);
  const [, aip = ""] = await server.match(/^aip +(127\.0\.0\.1:\d+)$/m);
  const script = findBlocks("docs/guide/http.md", "## Speak to the same agent in seven ways", "sh").join("");
  // The schema of AIP is read from the repository.
  const output = await runBlock(script.replace("127.0.0.1:50051", aip), address, root);
  expect(output).toContain('"name":"chat","status":"completed","input":"pay 30 to bob"');
  expect(output).toContain('"output":"Pay 30 to bob?"');
  expect(output).toContain('"type":"tool-approval-request"');
  expect(output).toContain('"type":"invalid_request_error","param":"approved"');
  const [, native = ""] = output.split("data: [DONE]");
  const types = toEvents(native).map(({ type }) => type);
  expect(types).toEqual([
    "RequestStarted",
    "WaitForInput",
    "ResumeWithInput",
    "TextOutput",
    "RequestCompleted",
  ]);
  expect(output.trimEnd().split("\n").at(-1)).toBe("FINISH Paid 30 to bob.");
});

test("the commands of the command line work as described", async ({ skip }) => {
  if (!canRunBlocks) skipWithoutCurl(skip);
  const own = `npx() { "${process.execPath}" "${main}" "\${@:2}"; }\n`;
  const path = "docs/guide/command-line.md";
  const [input] = findBlocks(path, "## Input", "sh");
  expect(await runBlock(own + input, address, cwd)).toBe('{"text":"ho ho ho "}\n'.repeat(3));
  const [output] = findBlocks(path, "## Output", "sh");
  expect(await runBlock(own + output, address, cwd)).toBe('ended with 4\n{"receipt":"bob:3"}\n');
});

test("the example of a remote agent runs unchanged", async () => {
  const [parrot = ""] = findBlocks("docs/guide/agents-together.md", "## Let agents work together", "ts");
  const code = parrot.replace("localhost:4100", address).replace("port: 4200", "port: 0");
  const program = startProgram(process.execPath, ["parrot.ts"], {
    cwd: await createProject({ "parrot.ts": code }),
  });
  const [url] = await program.match(/http:\/\/\S+/);
  expect((await chat(url, "parrot", { input: "not so loud" })).result).toBe("NOT SO LOUD");
});
