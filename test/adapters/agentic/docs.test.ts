import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { skipWithoutCurl } from "../../machine/skip-without.ts";
import { AgenticServer } from "./server.ts";

const page = readFileSync(
  join(resolve(import.meta.dirname, "../../.."), "docs/protocols/agentic.md"),
  "utf8",
);
const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, script = ""]) => script);
const hasCurl = spawnSync("bash", ["-c", "curl --version"]).status === 0;

test("the commands of the page work as described", async ({ skip }) => {
  if (!hasCurl) skipWithoutCurl(skip);
  await using server = await AgenticServer.start([echo, payments]);
  const address = server.url.replace("http://", "");
  const outputs: string[] = [];
  for (const script of blocks) {
    const own = script.replaceAll("localhost:4100", address);
    outputs.push((await promisify(execFile)("bash", ["--norc", "-euc", own])).stdout);
  }
  const [look = "", asking = ""] = outputs;
  expect(look).toContain('["/echo","/payments"]');
  expect(look).toContain('"operations":["chat","pay"]');
  expect(asking).toContain('"payload":{"approved":"Pay 30 to bob?"}');
  expect(asking).toContain('"messages":[{"role":"assistant","content":"Paid 30 to bob."}]');
  expect(asking).toContain('"event_name":"turn_end"');
});
