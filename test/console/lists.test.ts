/** @module-tag long */
import { setTimeout as delay } from "node:timers/promises";
import type { Route } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole();
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();
const RUNS = /\/runs(\?|$)/;

/** Whether a request follows the list, rather than reading it. */
function isStream(route: Route): boolean {
  return !route.request().url().includes("limit=");
}

test("a list whose answers take longer than the time between two changes shows the newest runs", async ({
  skip,
}) => {
  await using tab = await open(skip, server.url);
  const { page } = tab;
  await page.route(RUNS, async (route) => {
    if (!isStream(route)) await delay(2_000);
    await route.continue().catch(() => {});
  });
  await page.evaluate('location.hash = "#/runs"');
  const stop = new AbortController();
  const starting = (async () => {
    for (let n = 1; !stop.signal.aborted; n += 1) {
      await server.start("echo", `run number ${n}`, { wait: "completed" });
      await delay(300);
    }
  })();
  await expect.poll(() => page.getByText("run number 4").count()).toBeGreaterThan(0);
  stop.abort();
  await starting;
});

test("a list is followed again after a refusal that ends", async ({ skip }) => {
  await using tab = await open(skip, server.url, { expected: /403/ });
  const { page } = tab;
  let refusals = 0;
  await page.route(RUNS, async (route) => {
    if (!isStream(route) || refusals > 0) return route.continue();
    refusals += 1;
    return route.fulfill({ status: 403, body: "not now" });
  });
  await server.start("echo", "during the refusal", { wait: "completed" });
  await page.evaluate('location.hash = "#/runs"');
  await page.reload();
  await expect.poll(() => refusals).toBe(1);
  await page.getByText("during the refusal").first().waitFor();
  await server.start("echo", "after the refusal", { wait: "completed" });
  await page.getByText("after the refusal").first().waitFor();
});

test("a list of the oldest first that was read over its pages stays whole when a run changes", async ({
  skip,
}) => {
  await Promise.all(Array.from({ length: 120 }, () => server.start("ticker", "1", { wait: "completed" })));
  await using tab = await open(skip, `${server.url}/#/runs?agent=ticker&order=oldest`);
  const { page } = tab;
  const rows = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  await rows.first().waitFor();
  const last = page.locator("li[aria-posinset]").last();
  const scroll = "document.querySelector('.long-list').scrollTop = 1e6";
  await expect
    .poll(async () => (await page.evaluate(scroll), last.getAttribute("aria-posinset")))
    .toBe("120");
  await page.getByText("120 runs", { exact: true }).waitFor();
  await server.start("ticker", "1", { wait: "completed" });
  await page.getByText("121 runs", { exact: true }).waitFor();
  await expect
    .poll(async () => (await page.evaluate(scroll), last.getAttribute("aria-posinset")))
    .toBe("121");
});

test("the rows of a long list are there before they are counted, and another filter cancels the count", async ({
  skip,
}) => {
  const many = Array.from({ length: 101 }, () => server.start("echo", "one of many"));
  await Promise.all(many);
  await using tab = await open(skip, server.url);
  const { page } = tab;
  const counting = Promise.withResolvers<void>();
  let isHeld = true;
  await page.route(/agent=echo.*total=true/, async (route) => {
    if (isHeld) return counting.resolve();
    return route.continue();
  });
  await page.evaluate('location.hash = "#/runs?agent=echo"');
  const rows = page.getByRole("list", { name: "Runs" });
  await rows.getByText("one of many").first().waitFor();
  await page.getByText("100+ runs", { exact: true }).waitFor();
  await counting.promise;
  isHeld = false;
  const canceled = page.waitForEvent("requestfailed", (request) => request.url().includes("total=true"));
  await Promise.all([canceled, page.getByLabel("State").selectOption("failed")]);
  await page.getByText("No run fits the filter.").waitFor();
  expect(await page.getByRole("status").filter({ hasText: "0 runs" }).textContent()).toBe("0 runs");
  await page.getByLabel("State").selectOption("");
  await page.getByText(/^1\d\d runs$/).waitFor();
});
