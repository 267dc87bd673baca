/** @module-tag long */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { skipWithout } from "../machine/skip-without.ts";
import { findProgram } from "./harness/find-browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";
import { openBidi } from "./harness/bidi.ts";
import type { Bidi } from "./harness/bidi.ts";

const program = findProgram("FIREFOX", ["firefox-esr", "firefox"]);
let server: ConsoleServer;
let firefox: ChildProcess | undefined;
let profile: string;
let bidi: Bidi | undefined;

beforeAll(async () => {
  server = await startConsole();
  if (program === undefined) return;
  profile = mkdtempSync(join(tmpdir(), "troupe-firefox-"));
  const args = [
    "--headless",
    "--no-remote",
    "--remote-debugging-port=0",
    `--profile=${profile}`,
    "about:blank",
  ];
  firefox = spawn(program, args, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, HOME: profile },
  });
  bidi = await openBidi(firefox);
}, 180_000);

afterAll(async () => {
  bidi?.close();
  if (firefox !== undefined && firefox.exitCode === null) {
    const ended = once(firefox, "exit");
    firefox.kill();
    await ended;
  }
  if (profile !== undefined) rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  await server[Symbol.asyncDispose]();
});

test("Firefox shows the first page, a run with its chart, and takes an answer", async ({ skip }) => {
  if (bidi === undefined) skipWithout(skip, "needs Firefox: install one (apt-get install firefox-esr)");
  await bidi.open(server.url);
  await bidi.until("document.querySelector('h1')?.textContent === 'Nothing has run yet'");
  const { run_id: runId } = await server.start("order", "a lamp");
  await bidi.open(`${server.url}/#/runs/${runId}`);
  await bidi.until("document.querySelector('[data-active]') !== null");
  await bidi.until("document.querySelector('.question.open') !== null");
  await bidi.until(`(() => {
    const yes = [...document.querySelectorAll("button:not([aria-disabled])")].find((one) => one.textContent === "Yes");
    yes?.click();
    return document.querySelector(".question.open") === null;
  })()`);
  await bidi.until("document.querySelector('[data-state=shipped][data-active]') !== null");
  await bidi.open(`${server.url}/#/statistics?view=latency`);
  await bidi.until("document.querySelector('.sums tbody th')?.textContent.includes('order')");
  expect(bidi.faults()).toEqual([]);
}, 180_000);
