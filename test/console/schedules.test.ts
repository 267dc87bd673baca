/** @module-tag long */
import { expect, test } from "vitest";
import { digest } from "../../agents/digest.ts";
import { press, useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";

const open = useBrowser();

test("Health lists schedules, runs one now, pauses and resumes it, and removes it", async ({ skip }) => {
  await using server = await startConsole();
  const { runtime } = server;
  const made = await runtime.schedules.make("echo", {
    key: "ada",
    operation: "chat",
    input: { input: "good morning" },
    cron: "0 8 * * *",
    timezone: "Europe/Berlin",
  });
  await using tab = await open(skip, `${server.url}/#/health`);
  const part = tab.page.getByRole("region", { name: "Schedules" });
  const row = part.getByRole("listitem").filter({ hasText: "echo ada: chat" });
  await row.getByText("0 8 * * * Europe/Berlin").waitFor();
  await row.getByText("good morning").waitFor();
  const shot = process.env["TROUPE_SHOT"];
  if (shot !== undefined) await tab.page.screenshot({ path: shot, fullPage: true });

  await press(row.getByRole("button", { name: "Run now" }));
  await expect.poll(async () => (await runtime.run(made.run_id)).turns).toBe(1);
  await press(row.getByRole("button", { name: "Pause" }));
  await row.getByText("paused").waitFor();
  expect((await runtime.schedules.list({ limit: 1 })).schedules).toMatchObject([{ paused: true }]);
  await press(row.getByRole("button", { name: "Resume" }));
  await row.getByText(/^next /).waitFor();
  await press(row.getByRole("button", { name: "Remove" }));
  await part.getByText("none").waitFor();
  expect((await runtime.schedules.list({ limit: 1 })).schedules).toEqual([]);
});

test("the run of a schedule without an input has its name in the list of runs", async ({ skip }) => {
  await using server = await startConsole([digest]);
  await using tab = await open(skip, `${server.url}/#/runs`);
  const list = tab.page.getByRole("list", { name: "Runs" });
  const row = list.getByRole("listitem").filter({ hasText: "digest" });
  await row.waitFor();
  expect(await row.textContent()).toContain("schedule-digest");
});
