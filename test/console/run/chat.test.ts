import type { Page } from "playwright-core";
import { defineAgent } from "troupe";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { press, settle, submit, useBrowser } from "../harness/browser.ts";
import { startConsole } from "../harness/server.ts";
import type { ConsoleServer } from "../harness/server.ts";

const more = Promise.withResolvers<void>();
const writer = defineAgent({
  name: "writer",
  purpose: "Writes a part, and another one when the test says so.",
  async chat(_, turn) {
    await turn.text("The first part. ");
    await more.promise;
    await turn.text("The second part.");
  },
});

const buyer = defineAgent({
  name: "buyer",
  purpose: "Asks a question, and is told hints.",
  messages: { hint: z.string() },
  async chat(_, turn) {
    await turn.waitForInput({ approved: "Buy it?" });
  },
});

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole([buyer, writer]);
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();

test("a person opens the server, finds an agent, and chats with it", async ({ skip }) => {
  await using tab = await open(skip, server.url);
  const { page } = tab;
  await page.getByRole("link", { name: "Agents" }).click();
  await page.getByRole("link", { name: /^echo/ }).click();
  await page.getByLabel("Message to echo").fill("hello there");
  await submit(page.getByLabel("Message to echo"));
  await log(page).getByText("done").waitFor();
  await expect.poll(() => log(page).textContent()).toContain("hello there");

  await page.getByLabel("Message to echo").fill("and again");
  await press(page.getByRole("button", { name: "Send" }));
  await log(page).getByText("done").nth(1).waitFor();
  await page.getByRole("link", { name: "Open the run" }).click();
  await page.getByText("2 turns").waitFor();
  // The address shows the same to everybody.
  await page.reload();
  await log(page).getByText("and again").first().waitFor();
});

test(
  "the text of an agent grows while the agent writes, and at the end it equals the log",
  { tags: "long" },
  async ({ skip }) => {
    const { run_id: runId } = await server.start("writer", "a story");
    await using tab = await open(skip, `${server.url}/#/runs/${runId}`);
    const said = tab.page.locator(".prose").nth(1);
    await said.getByText("The first part.").waitFor();
    expect(await said.textContent()).not.toContain("second");
    more.resolve();
    await log(tab.page).getByText("done").waitFor();
    const answer = await fetch(`${server.url}/events/${runId}?since=0&types=TextOutput`);
    const events = (await answer.json()) as readonly { readonly type: string; readonly content?: string }[];
    const logged = events.map(({ content = "" }) => content).join("");
    expect(words((await said.textContent()) ?? "")).toBe(words(logged));
  },
);

test(
  "a question has the focus, and an answer in one tab is seen in the other",
  { tags: "long" },
  async ({ skip }) => {
    const { run_id: runId } = await server.start("payments", "pay 3 to bob");
    const address = `${server.url}/#/runs/${runId}`;
    await using tab = await open(skip, address);
    await using other = await open(skip, address, { beside: tab });
    await other.page.getByText("Pay 3 to bob?").waitFor();
    // The question has the focus, not its Yes.
    await tab.page.locator(".question:focus").waitFor();
    await tab.page.keyboard.press("Tab");
    const yes = tab.page.getByRole("button", { name: "Yes" });
    await settle(yes.and(tab.page.locator(":focus")));
    expect(await tab.page.getByLabel("Message to payments").count()).toBe(0);
    await tab.page.keyboard.press("Enter");
    for (const { page } of [tab, other]) {
      await log(page).getByText("Paid 3 to bob.").waitFor();
      await log(page).getByText("done").waitFor();
    }
  },
);

test("a run says who sent a hint and who canceled", { tags: "long" }, async ({ skip }) => {
  const { run_id: runId, request_id: requestId } = await server.start("buyer", "a pen");
  const ann = server.runtime.as({ id: "key:1", name: "Ann", owner: "default", roles: ["admin"] });
  await ann.process("buyer", { type: "Message", name: "hint", body: "be careful", run_id: runId });
  await ann.process("buyer", { type: "CancelRequest", request_id: requestId });
  await using tab = await open(skip, `${server.url}/#/runs/${runId}`);
  await log(tab.page).getByText("by Ann").waitFor();
  await log(tab.page).getByText("Ann", { exact: true }).waitFor();
  expect(await log(tab.page).textContent()).toContain("be careful");
});

test(
  "two questions at once are two forms, and each names what is missing",
  { tags: "long" },
  async ({ skip }) => {
    const { run_id: runId } = await server.start("interviewer", "hello");
    await using tab = await open(skip, `${server.url}/#/runs/${runId}`);
    const { page } = tab;
    const answers = page.getByRole("button", { name: "Answer", exact: true });
    await answers.nth(1).waitFor();
    await press(answers.first());
    await page.getByText("is required").waitFor();
    const fields = page.getByRole("log").getByRole("textbox");
    await fields.first().fill("Ada");
    await press(answers.first());
    await expect.poll(() => answers.count()).toBe(1);
    await fields.first().fill("green");
    await press(answers.first());
    await log(page).getByText("done").waitFor();
  },
);

test(
  "Stop cancels the turn within a second; closing the page does not",
  { tags: "long" },
  async ({ skip }) => {
    const { run_id: runId, request_id: requestId } = await server.start("ticker", "100000 50");
    const address = `${server.url}/#/runs/${runId}`;
    {
      await using tab = await open(skip, address);
      await tab.page.getByText("running").first().waitFor();
    }
    expect((await server.runtime.status(requestId)).status).toBe("running");
    await using tab = await open(skip, address);
    const stop = tab.page.getByRole("button", { name: "Stop" });
    await press(stop);
    await log(tab.page).getByText("canceled").waitFor();
    expect(await stop.count()).toBe(0);
  },
);

test(
  "an operation is called with a form made from its schema, and answers beside it",
  { tags: "long" },
  async ({ skip }) => {
    await using tab = await open(skip, `${server.url}/#/agents/payments?operation=pay`);
    const { page } = tab;
    await page.getByLabel("to", { exact: false }).first().fill("eve");
    await page.getByRole("textbox", { name: "amount" }).fill("5");
    await press(page.getByRole("button", { name: "Send" }));
    await press(page.getByRole("button", { name: "Yes" }));
    await log(page).getByText("eve:5").waitFor();
    expect(await page.getByRole("link", { name: "Open the run" }).getAttribute("href")).toContain(
      "#/runs/run_",
    );
  },
);

test(
  "what is typed while a message is sent stays, and a message whose answer was lost is sent once",
  { tags: "long" },
  async ({ skip }) => {
    const { run_id: runId } = await server.start("echo", "hello", { wait: "completed" });
    await using tab = await open(skip, `${server.url}/#/runs/${runId}`, { expected: /ERR_/ });
    const { page } = tab;
    const box = page.getByLabel("Message to echo");
    const held = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    await page.route("**/process", async (route) => {
      reached.resolve();
      await held.promise;
      await route.continue();
    });
    await box.fill("the second");
    await submit(box);
    await reached.promise;
    await box.fill("the third");
    held.resolve();
    await log(page).getByText("done").nth(1).waitFor();
    await page.locator("form:not([aria-busy=true])", { has: box }).waitFor();
    expect(await box.inputValue()).toBe("the third");

    await page.unroute("**/process");
    await page.route("**/process", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await box.press("Enter");
    await page.getByText("cannot be reached").waitFor();
    await page.unroute("**/process");
    await box.press("Enter");
    await expect.poll(() => box.inputValue()).toBe("");
    await box.fill("the fourth");
    await box.press("Enter");
    await log(page).getByText("done").nth(3).waitFor();
    expect(await page.getByText("4 turns").count()).toBe(1);
  },
);

function log(page: Page): ReturnType<Page["locator"]> {
  return page.getByRole("log");
}

/** A text without its spaces and line breaks, which markdown joins. */
function words(text: string): string {
  return text.replace(/\s+/g, "");
}
