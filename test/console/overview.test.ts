import { afterAll, beforeAll, expect, test } from "vitest";
import { broken } from "./harness/agents.ts";
import { press, useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole([broken]);
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();

test("a server without runs offers three first runs; then the first page shows what goes on", async ({
  skip,
}) => {
  await using tab = await open(skip, server.url);
  const { page } = tab;
  await page.getByRole("heading", { name: "Nothing has run yet" }).waitFor();
  expect(await page.getByRole("button", { name: "Send it" }).count()).toBe(3);
  await press(page.getByRole("button", { name: "Send it" }).first());
  await page.getByText("Pay 2 to bob?").first().waitFor();

  await server.start("broken", "order 17 has no address", { wait: "completed" });
  await server.start("broken", "order 18 has no address", { wait: "completed" });
  await page.getByRole("link", { name: "troupe" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const asked = page.getByRole("region", { name: "Open questions" });
  await asked.getByText("Pay 2 to bob?").waitFor();
  const figures = page.locator(".figure");
  await figures.filter({ hasText: "Turns in a day" }).getByText("2", { exact: true }).waitFor();
  await figures.filter({ hasText: "Spend in a day" }).getByText("unknown").waitFor();
  // Two failures for one reason are one line.
  const failures = page.getByRole("region", { name: "Failures" });
  await failures.getByText("2×").waitFor();
  expect(await failures.getByText("has no address").count()).toBe(1);
  await figures.filter({ hasText: "Failed in a day" }).getByText("2", { exact: true }).waitFor();
  const drawing = page.getByRole("group", { name: "Drawing of the agents" });
  await drawing.getByText("assistant calls payments").waitFor({ state: "attached" });
  await page.getByRole("region", { name: "Newest runs" }).getByText("what is 6 / 3").waitFor();
  await asked.getByText("Pay 2 to bob?").click();
  await page.waitForURL(/#\/inbox/);
});

test(
  "the list of runs goes on while one scrolls, is filtered, kept as a view, and changed at once",
  { tags: "long" },
  async ({ skip }) => {
    const runs = Array.from({ length: 230 }, (_, at) => at);
    await Promise.all(runs.map((at) => server.start("echo", `parcel ${at}`, { wait: "completed" })));
    await using tab = await open(skip, `${server.url}/#/runs`);
    const { page } = tab;
    await page.getByText("233 runs").waitFor();
    const list = page.getByRole("list", { name: "Runs" });
    // Only what is in sight is drawn, and the last page is read before its place comes into sight.
    expect(await list.getByRole("listitem").count()).toBeLessThan(60);
    await expect
      .poll(async () => {
        await page.evaluate('document.querySelector(".long-list").scrollTop = 1e6');
        return list.getByText("what is 6 / 3").count();
      })
      .toBe(1);

    await page.getByLabel("State").selectOption("failed");
    await list.getByText("order 18 has no address").last().waitFor();
    await expect.poll(() => list.getByRole("listitem").count()).toBe(2);
    expect(page.url()).toContain("state=failed");
    await page.getByRole("button", { name: "Save this view" }).click();
    await page.getByLabel("Name of the view").fill("Broken ones");
    await page.getByLabel("Name of the view").press("Enter");
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByText("233 runs").waitFor();
    await page.getByRole("link", { name: "Broken ones" }).click();
    await expect.poll(() => list.getByRole("listitem").count()).toBe(2);

    await list.getByRole("checkbox").first().check();
    await press(page.getByRole("button", { name: "Remove 1" }));
    await press(page.getByRole("button", { name: "Remove for good 1" }));
    await expect.poll(() => list.getByRole("listitem").count()).toBe(1);
  },
);
