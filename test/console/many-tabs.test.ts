/** @module-tag long */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { useBrowser } from "./harness/browser.ts";
import type { Tab } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";

const open = useBrowser();

test("ten tabs show one run, and each is live when it is shown", async ({ skip }) => {
  await using server = await startConsole();
  const { run_id: runId } = await server.start("echo", "the first", { wait: "completed" });
  await using tabs = new AsyncDisposableStack();
  const pages: Page[] = [];
  let first: Tab | undefined;
  // A person opens one tab after the other; the tabs behind are hidden, and for longer than ten seconds.
  for (let at = 0; at < 10; at += 1) {
    const tab = await open(skip, "about:blank", { others: [server.url], ...(first && { beside: first }) });
    tabs.use(tab);
    first ??= tab;
    const { page } = tab;
    await page.clock.install();
    await page.addInitScript(HIDEABLE);
    await page.goto(`${server.url}/#/runs/${runId}`);
    await page.getByText("event 4 of 4").waitFor();
    pages.push(page);
    if (at < 9) await hide(page);
  }
  // The tenth tab is live while the others are hidden.
  await server.start("echo", "the second", { wait: "completed", run_id: runId });
  await pages[9]?.getByText("event 8 of 8").waitFor();
  if (pages[9]) await hide(pages[9]);
  for (const page of pages) {
    expect(await page.getByRole("slider").getAttribute("aria-valuemax")).toMatch(
      page === pages[9] ? "8" : "4",
    );
    await show(page);
    await page.getByText("event 8 of 8").waitFor();
    await page.getByText("connected").waitFor();
    await hide(page);
  }
});

/** Lets the test say whether the page is hidden: a browser without a screen shows all its pages. */
const HIDEABLE = `
  let isHidden = false;
  Object.defineProperty(document, "hidden", { get: () => isHidden });
  Object.defineProperty(document, "visibilityState", { get: () => (isHidden ? "hidden" : "visible") });
  window.setHidden = (value) => {
    isHidden = value;
    document.dispatchEvent(new Event("visibilitychange"));
  };
`;

async function hide(page: Page): Promise<void> {
  await page.evaluate("setHidden(true)");
  await page.clock.runFor(11_000);
}

async function show(page: Page): Promise<void> {
  await page.evaluate("setHidden(false)");
}
