import { afterAll, beforeAll, expect, test } from "vitest";
import { useBrowser } from "./browser.ts";
import { startConsole } from "./server.ts";
import type { ConsoleServer } from "./server.ts";

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole();
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();
const atRest = { wait: "completed" };

test("a question of a called agent is counted in the title, answered in the Inbox, and gone", async ({
  skip,
}) => {
  const { request_id: id } = await server.start("assistant", "what is 6 / 3, and pay bob that much", atRest);
  await using tab = await open(skip, `${server.url}/#/inbox`);
  const { page } = tab;
  await page.getByRole("region", { name: "Question" }).getByText("Pay 2 to bob?").waitFor();
  await expect.poll(() => page.title()).toBe("(1) troupe");
  await page.getByRole("button", { name: "Yes" }).click();
  await page.getByText("Nobody is waiting for you").waitFor();
  await expect.poll(() => page.title()).toBe("troupe");
  await expect.poll(async () => (await server.runtime.status(id)).status).toBe("completed");
});
