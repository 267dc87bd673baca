import { afterAll, beforeAll, expect, test } from "vitest";
import { press, settle, submit, useBrowser } from "../harness/browser.ts";
import { startConsole } from "../harness/server.ts";
import type { ConsoleServer } from "../harness/server.ts";

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole();
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();
const atRest = { wait: "completed" };

test("a turn is tried again with another input, in a run of its own", async ({ skip }) => {
  const { run_id: runId } = await server.start("echo", "the first", atRest);
  await server.start("echo", "the second", { ...atRest, run_id: runId });
  await using tab = await open(skip, `${server.url}/#/runs/${runId}`);
  const { page } = tab;
  await page.getByText("2 turns").waitFor();
  await press(page.getByRole("button", { name: "Try again" }));
  const box = page.getByLabel("Message to echo");
  await expect.poll(() => box.inputValue()).toBe("the second");
  expect(page.url()).not.toContain(runId);
  await box.fill("another second");
  await submit(box);
  await page.getByText("2 turns").waitFor();
  await page.getByRole("log").getByText("another second").nth(1).waitFor();
  expect(await page.getByRole("log").getByText("the first").count()).toBe(2);

  // The turn before is the same in both runs; the first difference is the turn that was tried again.
  await page.getByRole("link", { name: "Compare" }).click();
  await page.getByText("They begin to differ in turn 2.").waitFor();
  const marked = page.locator("[data-difference]");
  expect(await marked.count()).toBe(1);
  expect(await marked.textContent()).toContain("another second");
});

test("the first turn is tried again in an empty run", { tags: "long" }, async ({ skip }) => {
  const { run_id: runId } = await server.start("echo", "the only one", atRest);
  await using tab = await open(skip, `${server.url}/#/runs/${runId}`);
  const { page } = tab;
  await press(page.getByRole("button", { name: "Try again" }));
  await page.getByText("Nothing was said yet.").waitFor();
  await submit(page.getByLabel("Message to echo"));
  await page.getByRole("log").getByText("the only one").nth(1).waitFor();
  expect(page.url()).not.toContain(runId);
});

test("Try again that is clicked twice makes one run", { tags: "long" }, async ({ skip }) => {
  const { run_id: runId } = await server.start("echo", "clicked twice", atRest);
  await using tab = await open(skip, `${server.url}/#/runs/${runId}`);
  const { page } = tab;
  let forks = 0;
  const held = Promise.withResolvers<void>();
  await page.route("**/fork", async (route) => {
    forks += 1;
    await held.promise;
    await route.continue();
  });
  const again = page.getByRole("button", { name: "Try again" });
  await settle(again);
  await again.dblclick();
  held.resolve();
  await page.getByText("Nothing was said yet.").waitFor();
  expect(forks).toBe(1);
});
