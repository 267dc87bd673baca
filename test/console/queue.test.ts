import { defineAgent } from "troupe";
import type { Agent } from "troupe";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

function asks(name: string, approvers?: readonly string[]): Agent {
  return defineAgent({
    name,
    purpose: "Asks what it is told.",
    async chat(input, turn) {
      const question = z.object({ agreed: z.boolean().describe(input) });
      return String((await turn.waitForInput(question, approvers && { approvers })).agreed);
    },
  });
}

const OPEN = 260;
/** The places in the queue of those that the clerk asks, and of those that only a manager answers. */
const CLERK = new Set([30, 150, 250]);
const MANAGER = new Set([240]);

let server: ConsoleServer;
const requests: { readonly agent: string; readonly request_id: string }[] = [];
beforeAll(async () => {
  server = await startConsole([asks("guard"), asks("clerk"), asks("chief", ["manager"])]);
  for (let n = 1; n <= OPEN; n += 1) {
    const agent = CLERK.has(n) ? "clerk" : MANAGER.has(n) ? "chief" : "guard";
    requests.push({ agent, ...(await server.start(agent, `May ${n} come in?`, { wait: "completed" })) });
  }
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();

test(
  "each of many open questions is counted, and reached by keyboard over the pages",
  { tags: "long" },
  async ({ skip }) => {
    await using tab = await open(skip, `${server.url}/#/inbox`);
    const { page } = tab;
    const { row, question } = partsOf(page);
    await page
      .getByRole("status")
      .filter({ hasText: `${OPEN} open` })
      .waitFor();
    await expect.poll(() => page.title()).toBe(`(${OPEN}) troupe`);
    // Only those in sight are drawn.
    expect(await page.getByRole("list", { name: "Questions" }).getByRole("listitem").count()).toBeLessThan(
      60,
    );

    await row(1).focus();
    for (let n = 2; n <= 130; n += 1) await page.keyboard.press("ArrowDown");
    await focused(row(130));
    await page.keyboard.press("Enter");
    await question.getByText("May 130 come in?").waitFor();
    await row(130).and(page.locator("[aria-current]")).waitFor();

    await row(130).focus();
    await page.keyboard.press("Home");
    await focused(row(1));
    await expect
      .poll(async () => {
        await page.keyboard.press("End");
        return row(OPEN).count();
      })
      .toBe(1);
    await focused(row(OPEN));
    await page.keyboard.press("PageUp");
    expect(await row(OPEN).and(page.locator(":focus")).count()).toBe(0);
    // What is shown stays so.
    await question.getByText("May 130 come in?").waitFor();
  },
);

test("the filters select among all open questions, not among those that were read", async ({ skip }) => {
  await using tab = await open(skip, `${server.url}/#/inbox?agent=clerk`);
  const { page } = tab;
  const { row, question } = partsOf(page);
  await page.getByRole("status").filter({ hasText: "3 open" }).waitFor();
  for (const n of CLERK) await row(n).waitFor();
  await question.getByText("May 30 come in?").waitFor();
  await page.getByLabel("Agent").selectOption("chief");
  await question.getByText("May 240 come in?").waitFor();
  await page.getByRole("status").filter({ hasText: "1 open" }).waitFor();

  // What everybody may answer is for each role.
  const role = page.getByLabel("Who may answer");
  await role.fill("clown");
  await role.press("Enter");
  await page.getByText("Nothing that is open fits the filter.").waitFor();
  await role.fill("manager");
  await role.press("Enter");
  await question.getByText("May 240 come in?").waitFor();
  expect(page.url()).toContain("role=manager");
});

test(
  "what is in sight does not move when questions above it are answered elsewhere",
  { tags: "long" },
  async ({ skip }) => {
    await using tab = await open(skip, `${server.url}/#/inbox`);
    const { page } = tab;
    const { row, question } = partsOf(page);
    await question.getByText("May 1 come in?").waitFor();
    await row(1).focus();
    for (let n = 2; n <= 60; n += 1) await page.keyboard.press("ArrowDown");
    await focused(row(60));
    const top = (await row(60).boundingBox())?.y;
    for (const { agent, request_id: id } of requests.slice(10, 25))
      await server.runtime.process(agent, { type: "CancelRequest", request_id: id });
    await page
      .getByRole("status")
      .filter({ hasText: `${OPEN - 15} open` })
      .waitFor();
    await expect
      .poll(async () =>
        page.getByRole("listitem").filter({ hasText: "May 60 come in?" }).getAttribute("aria-posinset"),
      )
      .toBe("45");
    expect((await row(60).boundingBox())?.y).toBe(top);
    await focused(row(60));
    // A new one stands at the end, where it is counted too.
    await server.start("guard", "May the last one come in?", { wait: "completed" });
    await page
      .getByRole("status")
      .filter({ hasText: `${OPEN - 14} open` })
      .waitFor();
    expect((await row(60).boundingBox())?.y).toBe(top);
  },
);

test("what is typed into a filter stays while the list changes", async ({ skip }) => {
  await using tab = await open(skip, `${server.url}/#/inbox?agent=chief`);
  const { page } = tab;
  await page.getByRole("status").filter({ hasText: "1 open" }).waitFor();
  const role = page.getByLabel("Who may answer");
  await role.fill("clown");
  await server.start("chief", "May one more come in?", { wait: "completed" });
  await page.getByRole("status").filter({ hasText: "2 open" }).waitFor();
  expect(await role.inputValue()).toBe("clown");
  await role.press("Enter");
  await page.getByText("Nothing that is open fits the filter.").waitFor();
});

function partsOf(page: Page): { row(n: number): Locator; readonly question: Locator } {
  const queue = page.getByRole("list", { name: "Questions" });
  return {
    row: (n) => queue.getByRole("button").filter({ hasText: `May ${n} come in?` }),
    question: page.getByRole("region", { name: "Question" }).getByRole("group"),
  };
}

async function focused(row: Locator): Promise<void> {
  await row.and(row.page().locator(":focus")).waitFor();
}
