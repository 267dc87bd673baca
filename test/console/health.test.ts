import { afterAll, beforeAll, expect, test } from "vitest";
import { broken } from "./harness/agents.ts";
import { useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole([broken]);
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();

test("Health draws what happens, keeps it while another place is shown, and names the parts", async ({
  skip,
}) => {
  await using tab = await open(skip, `${server.url}/#/health`);
  const { page } = tab;
  const turns = page.getByRole("img", { name: /^Turns that ended, a second: / });
  await turns.and(page.getByRole("img", { name: /: 0 now/ })).waitFor();
  await server.start("echo", "hello", { wait: "completed" });
  await server.start("broken", "no", { wait: "completed" });
  // A rate above zero, which stays in the chart when nothing happens any more.
  const highest = page.getByRole("img", { name: /^Turns that ended, a second: .*, at most (?!0$)/ });
  await highest.waitFor();
  await page.getByRole("img", { name: /^Memory: [\d,]+ MB now/ }).waitFor();
  await page.getByRole("region", { name: "Parts" }).getByText("log", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Runs" }).click();
  await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
  await page.getByRole("link", { name: "Health" }).click();
  await highest.waitFor();
  expect(await page.locator(".line-chart .line.failed[d^=M]").count()).toBe(1);
});
