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

test("a run is found from anywhere by a word of it, played from its beginning, and named in the tab", async ({
  skip,
}) => {
  const { run_id: runId } = await server.start("order", "a lamp");
  await server.start("echo", "unrelated", { wait: "completed" });
  await using tab = await open(skip, `${server.url}/#/health`);
  const { page } = tab;
  await page.getByRole("heading", { name: "Health" }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).getByText("Ctrl K").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  const field = page.getByRole("searchbox", { name: "Go to a place" });
  await field.fill("lamp");
  await page.getByRole("option", { name: "run of order" }).waitFor();
  await field.press("Enter");
  await page.waitForURL(new RegExp(runId));
  await page.getByRole("heading", { level: 1, name: "a lamp" }).waitFor();
  await expect.poll(() => page.title()).toContain("a lamp · order · troupe");

  await page.getByRole("button", { name: "Next change" }).click();
  await page.getByText("as of event").waitFor();
  await page.getByRole("button", { name: "Play at 10×" }).click();
  await page.getByRole("button", { name: "Live", pressed: true }).waitFor();

  const divider = page.getByRole("separator", { name: "Width of the chat" });
  await divider.press("ArrowRight");
  expect(await divider.getAttribute("aria-valuenow")).toBe("44");
  await page.reload();
  await expect.poll(() => divider.getAttribute("aria-valuenow")).toBe("44");
});

test(
  "a dialog that opens before the other one has told that it is closed stays open",
  { tags: "long" },
  async ({ skip }) => {
    await using tab = await open(skip, `${server.url}/#/health`);
    const { page } = tab;
    await page.getByRole("heading", { name: "Health" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.evaluate(`
    const keys = document.querySelector("dialog");
    const told = new Promise((resolve) => keys.addEventListener("close", resolve));
    keys.close();
    dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true }));
    told;
  `);
    const field = page.getByRole("searchbox", { name: "Go to a place" });
    await field.fill("lamp");
    expect(await field.inputValue()).toBe("lamp");
  },
);
