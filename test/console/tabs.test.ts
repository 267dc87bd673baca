import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { flood, outer } from "./agents.ts";
import { useBrowser } from "./browser.ts";
import { startConsole } from "./server.ts";
import type { ConsoleServer } from "./server.ts";

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole([flood, outer]);
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();
const atRest = { wait: "completed" };

test("as of event N every tab shows only what is in 1 to N, and the address brings it back", async ({
  skip,
}) => {
  const { run_id: runId } = await server.start("assistant", "what is 6 / 3, and pay bob that much", atRest);
  await using tab = await open(skip, `${server.url}/#/runs/${runId}/events`);
  const { page } = tab;
  await page.getByText("Pay 2 to bob?").first().waitFor();
  const head = Number(await slider(page).getAttribute("aria-valuemax"));
  await slider(page).focus();
  // The question is the newest event; without it there is nothing to answer.
  await page.keyboard.press("ArrowLeft");
  await page.getByText(`as of event ${head - 1}`).waitFor();
  expect(await page.getByRole("button", { name: "Yes" }).count()).toBe(0);
  expect(await rowIds(page)).toEqual(Array.from({ length: head - 1 }, (_, at) => at + 1));
  expect(await page.getByRole("grid").getAttribute("aria-rowcount")).toBe(String(head - 1));
  await expect.poll(() => page.url()).toContain(`at=${head - 1}`);
  await page.reload();
  await page.getByText(`as of event ${head - 1}`).waitFor();
  expect(await rowIds(page)).toHaveLength(head - 1);

  await page.keyboard.press("Tab");
  await slider(page).focus();
  await page.keyboard.press("Shift+ArrowLeft");
  await page.getByText("as of event 1 ").waitFor();
  await page.getByRole("tab", { name: "Timeline" }).click();
  await page.locator("[data-call]").first().waitFor();
  expect(await page.locator("[data-call]").count()).toBe(1);
  await page.keyboard.press("Tab");
  await slider(page).focus();
  await page.keyboard.press("End");
  await page.getByRole("button", { name: "Yes" }).waitFor();
  await expect.poll(() => page.url()).not.toContain("at=");
});

test("the bar of a call is inside of the bar of its caller, three levels deep", async ({ skip }) => {
  const { run_id: runId } = await server.start("outer", "hello", atRest);
  await using tab = await open(skip, `${server.url}/#/runs/${runId}/timeline`);
  const { page } = tab;
  const bars = page.locator("[data-call] .timeline-bar");
  await bars.nth(2).waitFor();
  const paths = await page.evaluate(
    '[...document.querySelectorAll("[data-call]")].map(({ dataset }) => dataset.call)',
  );
  expect(paths).toEqual(["", "c1.1", "c1.1.1"]);
  const boxes = await Promise.all([0, 1, 2].map((at) => bars.nth(at).boundingBox()));
  for (const [at, inner] of boxes.entries()) {
    const outer = boxes[at - 1];
    if (outer === undefined || outer === null || inner === null) continue;
    expect(inner.x).toBeGreaterThanOrEqual(outer.x - 1);
    expect(inner.x + inner.width).toBeLessThanOrEqual(outer.x + outer.width + 4);
  }
});

test("a run of 10,000 events is ready soon, with few elements, and can be searched", async ({ skip }) => {
  const { run_id: runId } = await server.start("flood", "10000 4", atRest);
  await using tab = await open(skip, `${server.url}/#/runs/run_none`, { expected: /404/ });
  const { page } = tab;
  await page.getByText("There is no such run").waitFor();
  const started = performance.now();
  await page.evaluate(`location.hash = "#/runs/${runId}/events"`);
  await page.getByRole("grid").getByText("RequestCompleted").waitFor();
  const readyMs = performance.now() - started;
  // One second on a machine that does nothing else.
  expect(readyMs).toBeLessThan(15_000);
  expect(await page.locator("*").count()).toBeLessThan(3_000);
  expect(await slider(page).getAttribute("aria-valuemax")).toBe("10002");
  await page.getByRole("searchbox", { name: "Search in events" }).fill("4321x");
  await page.getByLabel("type").selectOption("TextOutput");
  await page.getByText("1 of 10002 events").waitFor();
  await page.getByRole("row").first().click();
  await page.getByRole("button", { name: "Show the run here" }).click();
  await page.getByText("as of event 4322").waitFor();
});

function slider(page: Page): ReturnType<Page["getByRole"]> {
  return page.getByRole("slider");
}

/** The event ids of the rows that are drawn. */
async function rowIds(page: Page): Promise<readonly number[]> {
  await page.getByRole("grid").getByRole("row").first().waitFor();
  const texts = await page.getByRole("grid").getByRole("row").allTextContents();
  return texts.map((text) => Number.parseInt(text, 10));
}
