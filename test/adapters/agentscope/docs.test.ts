/** @module-tag long */
import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { notebook } from "../../../agents/notebook.ts";
import { payments } from "../../../agents/payments.ts";
import { skipWithoutCurl } from "../../machine/skip-without.ts";
import { TestServer } from "./harness/server.ts";

const page = readFileSync(
  join(resolve(import.meta.dirname, "../../.."), "docs/protocols/agentscope.md"),
  "utf8",
);
const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, script = ""]) => script);
const hasCurl = spawnSync("bash", ["-c", "curl --version"]).status === 0;

test("the commands of the page work as described", async ({ skip }) => {
  if (!hasCurl) skipWithoutCurl(skip);
  await using server = await TestServer.start([echo, notebook, payments]);
  const address = server.url.replace("http://", "");
  const outputs: string[] = [];
  for (const script of blocks) {
    const { stdout } = await promisify(execFile)("bash", [
      "--norc",
      "-euc",
      script.replaceAll("localhost:4100", address),
    ]);
    outputs.push(stdout);
  }
  const [look = "", texts = "", asking = "", task = ""] = outputs;
  expect(look).toContain('{"name":"payments","path":"/agentscope/payments"}');
  expect(look).toContain('{"status":"healthy"}');
  expect(texts).toContain('"text":"to be or not to be"');
  expect(texts).toContain('"text":"1. buy milk"');
  expect(texts).toMatch(/"type":"MESSAGE".*"text":"1\. buy milk\\n2\. call Ada"/);
  expect(asking.match(/"text":"Paid 30 to bob\."/g)?.length).toBeGreaterThan(3);
  expect(task).toContain('"status":"submitted"');
  expect(task).toContain('{"status":"finished","result":{');
  expect(task).toContain('{"status":"success","message":"Nothing was running."}');
});
