/** @module-tag long */
import { setTimeout as delay } from "node:timers/promises";
import { defineAgent } from "troupe";
import { afterAll, beforeAll, expect, test } from "vitest";
import { press, useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

const oracle = defineAgent({
  name: "oracle",
  purpose: "Knows.",
  chat: () => `the answer is walrus, ${"and ".repeat(50)} narwhal`,
});

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole([oracle]);
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();

test("a result says where the words of the search are, if they are not in what was asked", async ({
  skip,
}) => {
  await server.start("oracle", "what is it", { wait: "completed" });
  await server.start("echo", "a walrus, please", { wait: "completed" });
  await using tab = await open(skip, `${server.url}/#/runs?q=walrus`);
  const rows = tab.page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  const answered = rows.filter({ hasText: "what is it" });
  await answered.getByText("in output", { exact: true }).waitFor();
  await answered.getByText("the answer is walrus").waitFor();
  await rows.filter({ hasText: "a walrus, please" }).first().waitFor();
  expect(await tab.page.locator(".found").count()).toBe(1);
  // The row has only the beginning of the output.
  await tab.page.getByLabel("Search in runs").fill("narwhal");
  await answered.getByText("in output or metadata").waitFor();
});

test("it divides words as the server does, in a script without spaces too", async ({ skip }) => {
  await server.start("echo", "今日は東京へ行く", { wait: "completed" });
  await using tab = await open(skip, `${server.url}/#/runs?q=${encodeURIComponent("東京")}`);
  await tab.page.getByRole("list", { name: "Runs" }).getByText("今日は東京へ行く").first().waitFor();
  expect(await tab.page.locator(".found").count()).toBe(0);
});

test("a search goes on over pages without a hit, and asks before it goes on for long", async ({ skip }) => {
  const { run_id: runId } = await server.start("echo", "long ago", { wait: "completed" });
  const row: unknown = await (await fetch(`${server.url}/runs/${runId}`)).json();
  await using tab = await open(skip, `${server.url}/#/runs`);
  const { page } = tab;
  let asked = 0;
  // As a server with very many runs answers: each page has looked at some of them, a minute's worth here.
  await page.route(/\/runs\?.*q=rare/, async (route) => {
    const cursor = new URL(route.request().url()).searchParams.get("cursor");
    const at = cursor === null ? 0 : Math.round((START - Number.parseInt(cursor, 10)) / 60_000);
    asked = Math.max(asked, at + 1);
    await delay(5);
    const isLast = at === 13;
    const next = `</runs?q=rare&cursor=${START - (at + 1) * 60_000}.run_x>; rel="next"`;
    const headers: Record<string, string> = isLast ? {} : { link: next };
    await route.fulfill({ json: isLast ? [row] : [], headers });
  });
  await page.getByLabel("Search in runs").fill("rare");
  await page.getByText("Searched back to").waitFor();
  expect(asked).toBe(10);
  expect(await page.getByText("No run fits the filter.").count()).toBe(0);
  // A run that changes meanwhile has its place read again, and no more of the search.
  await server.start("echo", "meanwhile", { wait: "completed" });
  await press(page.getByRole("button", { name: "Go on" }));
  await page.getByRole("list", { name: "Runs" }).getByText("long ago").first().waitFor();
  expect(asked).toBe(14);
  expect(await page.getByText("Searched back to").count()).toBe(0);
});

const START = Date.UTC(2026, 10, 1);
