import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../directories.ts";

const run = promisify(execFile);

const PROGRAM = `
  import { createRuntime, defineAgent } from "troupe";
  import { sqliteLog } from "troupe/storage/sqlite";

  const agents = [defineAgent({ name: "echo", purpose: "Echoes.", chat: (input) => input })];
  const runtime = createRuntime({ agents, log: sqliteLog(process.argv[1]) });
  await runtime.ready();
  console.log("ready");
`;

const CLOSING = `
  import { setTimeout } from "node:timers/promises";
  import { sqliteLog } from "troupe/storage/sqlite";

  for (let ms = 0; ms < 60; ms += 1) {
    const log = sqliteLog(process.argv[1]);
    await setTimeout(ms);
    await log.close();
  }
  console.log("closed");
`;

const flags = ["--conditions=troupe-source", "--disable-warning=ExperimentalWarning", "--input-type=module"];

async function runProgram(source: string, directory: string): Promise<string> {
  const { stdout, stderr } = await run(process.execPath, [...flags, "--eval", source, directory]);
  expect(stderr).toBe("");
  return stdout;
}

test("a program that does nothing after its log is ready ends by itself", { tags: "long" }, async () => {
  expect(await runProgram(PROGRAM, temporaryDirectory())).toBe("ready\n");
});

// The times go across the start of the log's thread.
test("a program can close its log at any time while it starts", { tags: "long" }, async () => {
  expect(await runProgram(CLOSING, temporaryDirectory())).toBe("closed\n");
});
