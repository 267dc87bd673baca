/** @module-tag long */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { settle, submit, useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";

const open = useBrowser();

test("from the list of runs to an answered question to a fork, with the keyboard alone", async ({ skip }) => {
  await using server = await startConsole();
  const { run_id: runId, request_id: id } = await server.start("payments", "pay 3 to bob", {
    wait: "completed",
  });
  await using tab = await open(skip, `${server.url}/#/runs`);
  const { page } = tab;
  await page.getByRole("list", { name: "Runs" }).getByText("pay 3 to bob").waitFor();
  await tabTo(page, `a[href="#/runs/${runId}"]`);
  await page.keyboard.press("Enter");
  // The question has the focus as soon as it is shown, and its Yes is the next stop.
  await page.locator(".question:focus").waitFor();
  await page.keyboard.press("Tab");
  await settle(page.locator("button:focus", { hasText: "Yes" }));
  await page.keyboard.press("Enter");
  await expect.poll(async () => (await server.runtime.status(id)).status).toBe("completed");
  await page.locator(".turn-line").getByText("done").waitFor();

  // The tabs of the run are one stop; the arrows choose among them.
  await tabTo(page, "[role=tab][aria-selected=true]");
  await page.keyboard.press("ArrowRight");
  await page.getByRole("tab", { name: "Sequence", selected: true }).and(page.locator(":focus")).waitFor();
  // The scrubber goes back to the question and to the newest event again.
  await tabTo(page, "input[type=range]");
  await page.keyboard.press("ArrowLeft");
  await page.getByText("read-only", { exact: false }).first().waitFor();
  await page.keyboard.press("End");
  await expect.poll(() => page.getByText("read-only", { exact: false }).count()).toBe(0);

  await tabTo(page, "button", "Try again");
  await settle(page.locator("button:focus"));
  await page.keyboard.press("Enter");
  const box = page.getByLabel("Message to payments");
  await expect.poll(() => box.inputValue()).toBe("pay 3 to bob");
  expect(page.url()).not.toContain(runId);
  await tabTo(page, "textarea, input");
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type("pay 4 to eve");
  await submit(box);
  await page.locator(".question:focus").waitFor();
  await page.getByText("Pay 4 to eve?").first().waitFor();
});

/** Presses Tab until an element has the focus; fails if it has gone round. */
async function tabTo(page: Page, selector: string, text: string = ""): Promise<void> {
  const hasFocus = `(() => {
    const element = document.activeElement;
    return element.matches(${JSON.stringify(selector)}) && element.textContent.includes(${JSON.stringify(text)});
  })()`;
  for (let pressed = 0; pressed < MOST; pressed += 1) {
    if ((await page.evaluate(hasFocus)) === true) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${MOST} presses of Tab do not lead to ${selector} ${text}`);
}

const MOST = 80;
