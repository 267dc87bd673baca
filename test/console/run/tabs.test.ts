import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { flood, outer } from "../harness/agents.ts";
import { press, useBrowser } from "../harness/browser.ts";
import { startConsole } from "../harness/server.ts";
import type { ConsoleServer } from "../harness/server.ts";

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole([flood, outer]);
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();
const atRest = { wait: "completed" };

test(
  "as of event N every tab shows only what is in 1 to N, and the address brings it back",
  { tags: "long" },
  async ({ skip }) => {
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
  },
);

test("nothing is said about a run before its events are read", { tags: "long" }, async ({ skip }) => {
  const { run_id: runId } = await server.start("outer", "hello", atRest);
  await using tab = await open(skip, server.url);
  const { page } = tab;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  await page.route(/\/(get)?events\//, async (route) => {
    ask();
    await released;
    await route.continue();
  });
  await page.evaluate(`location.hash = "#/runs/${runId}/files"`);
  await asked;
  const panel = page.getByRole("tabpanel");
  await panel.waitFor({ state: "attached" });
  expect(await panel.textContent()).toBe("");
  expect(await panel.getAttribute("aria-busy")).toBe("true");
  expect(await page.getByText("0 turns").count()).toBe(0);
  release();
  await panel.getByText("No file has been added").waitFor();
  expect(await panel.getAttribute("aria-busy")).toBe(null);
});

test(
  "the bar of a call is inside of the bar of its caller, three levels deep",
  { tags: "long" },
  async ({ skip }) => {
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
  },
);

test(
  "the events of a run are searched, and the run is shown as of the one that is found",
  { tags: "long" },
  async ({ skip }) => {
    const { run_id: runId } = await server.start("flood", "1000 4", atRest);
    await using tab = await open(skip, `${server.url}/#/runs/${runId}/events`);
    const { page } = tab;
    await page.getByRole("searchbox", { name: "Search in events" }).fill("432x");
    await page.getByLabel("type").selectOption("TextOutput");
    await page.getByText("1 of 1002 events").waitFor();
    await page.getByRole("row").first().click();
    await page.getByRole("button", { name: "Show the run here" }).click();
    await page.getByText("as of event 433").waitFor();
    expect(await slider(page).getAttribute("aria-valuenow")).toBe("433");
  },
);

test(
  "an actor that is chosen is shown alone in every tab, and the address brings it back",
  { tags: "long" },
  async ({ skip }) => {
    const { run_id: runId } = await server.start("outer", "hello", atRest);
    await using tab = await open(skip, `${server.url}/#/runs/${runId}/actors`);
    const { page } = tab;
    const everything = page.getByRole("button", { name: "Show everything" });
    await page.getByRole("treeitem", { name: /middle/ }).click();
    await everything.waitFor();
    // The tree shows all, so that another one can be chosen.
    expect(await page.getByRole("treeitem").count()).toBe(3);
    await page.reload();
    await page.getByRole("treeitem", { name: /middle/, selected: true }).waitFor();
    await page.getByRole("tab", { name: "Timeline" }).click();
    await page.locator("[data-call='c1.1.1']").waitFor();
    expect(await page.locator("[data-call]").count()).toBe(2);
    await page.getByRole("tab", { name: "Events" }).click();
    const all = (await (await fetch(`${server.url}/events/${runId}?since=0`)).json()) as readonly unknown[];
    await page.getByText(`${all.length - 3} of ${all.length} events`).waitFor();
    // The conversation is that of the chosen actor, and the turn has not ended in it.
    expect(await page.locator(".turn-line").count()).toBe(0);
    await everything.click();
    await page.getByText(`${all.length} events`, { exact: true }).waitFor();
    await page.locator(".turn-line").getByText("done").waitFor();
  },
);

test(
  "requests that wait for a turn are in the mailbox, and the timeline shows how long they waited",
  { tags: "long" },
  async ({ skip }) => {
    const { run_id: runId, request_id: first } = await server.start("payments", "pay 3 to bob", atRest);
    const next = { run_id: runId, on_busy: "enqueue" };
    const { request_id: second } = await server.start("payments", "hello", next);
    await using tab = await open(skip, `${server.url}/#/runs/${runId}/actors`);
    const { page } = tab;
    await page.getByText("1 queued").waitFor();
    await page.getByRole("region", { name: "Mailbox" }).getByText(second).waitFor();
    await press(page.getByRole("button", { name: "Yes" }));
    await expect.poll(async () => (await server.runtime.status(second)).status).toBe("completed");
    expect((await server.runtime.status(first)).status).toBe("completed");
    await expect.poll(() => page.getByText("1 queued").count()).toBe(0);
    await page.getByRole("tab", { name: "Timeline" }).click();
    const row = page.locator("[data-call='']").nth(1);
    const [queued, bar] = [row.locator(".timeline-bar.queued"), row.locator(".timeline-bar.whole")];
    const [before, after] = [await queued.boundingBox(), await bar.boundingBox()];
    expect(before?.width).toBeGreaterThan(4);
    expect((before?.x ?? 0) + (before?.width ?? 0)).toBeLessThanOrEqual((after?.x ?? 0) + 1);
  },
);

function slider(page: Page): ReturnType<Page["getByRole"]> {
  return page.getByRole("slider");
}

/** The event ids of the rows that are drawn. */
async function rowIds(page: Page): Promise<readonly number[]> {
  await page.getByRole("grid").getByRole("row").first().waitFor();
  const texts = await page.getByRole("grid").getByRole("row").allTextContents();
  return texts.map((text) => Number.parseInt(text, 10));
}
