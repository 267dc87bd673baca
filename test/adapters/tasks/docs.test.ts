/** @module-tag long */
import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { skipWithoutCurl } from "../../machine/skip-without.ts";
import { TestServer } from "./server.ts";

const page = readFileSync(join(resolve(import.meta.dirname, "../../.."), "docs/protocols/tasks.md"), "utf8");
const byHand = page.slice(page.indexOf("## By hand"), page.indexOf("## Routes"));
const blocks = [...byHand.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, script = ""]) => script);
const hasCurl = spawnSync("bash", ["-c", "curl --version"]).status === 0;

test("the commands of the page work as described", async ({ skip }) => {
  if (!hasCurl) skipWithoutCurl(skip);
  await using server = await TestServer.start([echo, payments]);
  const address = server.url.replace("http://", "");
  const outputs: string[][] = [];
  for (const block of blocks) {
    const script = block.replaceAll("localhost:4100", address);
    const { stdout } = await promisify(execFile)("bash", ["--norc", "-euc", script]);
    outputs.push(stdout.trim().split("\n"));
  }
  const [[step, task, list] = [], [asked, refused, paid, steps] = [], [files, bytes] = []] = outputs;
  expect(step).toMatch(/"output":"to be or not to be".*"is_last":true/);
  expect(task).toContain(`"steps":[${step}]`);
  expect(list).toContain('"total_items":1,"total_pages":1,"current_page":1,"page_size":2');
  expect(asked).toMatch(/"output":"Pay 30 to bob\?".*"is_last":false/);
  expect(refused).toContain("approved");
  expect(paid).toMatch(/"output":"Paid 30 to bob\.".*"is_last":true/);
  expect(steps).toContain(`"steps":[${asked},${paid}]`);
  expect(files).toContain('"agent_created":false,"file_name":"list.txt","relative_path":"notes"');
  expect(bytes).toBe("buy milk");
});
