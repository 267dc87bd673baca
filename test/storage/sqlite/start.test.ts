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

test("a program that does nothing after its log is ready ends by itself", async () => {
  const flags = ["--conditions=troupe-source", "--disable-warning=ExperimentalWarning"];
  const program = ["--input-type=module", "--eval", PROGRAM, temporaryDirectory()];
  const { stdout, stderr } = await run(process.execPath, [...flags, ...program]);
  expect(stdout).toBe("ready\n");
  expect(stderr).toBe("");
});
