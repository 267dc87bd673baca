import { defineAgent, defineTool } from "troupe";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { press, settle, useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

const send = defineTool({
  name: "send_letter",
  description: "Sends a letter.",
  input: z.object({ address: z.string() }),
  run: () => "sent",
});

const clerk = defineAgent({
  name: "clerk",
  purpose: "Writes letters.",
  tools: [send],
  operations: (operation) => ({
    open_letters: operation({
      read: true,
      input: z.object({ box: z.string() }),
      run: ({ box }) => ({ box, letters: 7 }),
    }),
  }),
  chat: () => "ok",
});

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole([clerk]);
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();

test("an agent is shown with its tools, the agents it works with, and those that call it", async ({
  skip,
}) => {
  await using tab = await open(skip, `${server.url}/#/agents/assistant`);
  const { page } = tab;
  await page.getByText("Asks the model scripted").waitFor();
  await page.getByText("It calls no tools.").waitFor();
  const others = page.getByRole("list", { name: "Works with" });
  await others.getByText("calculator", { exact: true }).first().click();
  await others.getByRole("heading", { name: "divide" }).waitFor();
  await others.getByRole("link", { name: "Open calculator" }).click();
  await page.getByRole("heading", { level: 1, name: "calculator" }).waitFor();
  await page.getByText("It calls no other agents.").waitFor();
  await page.getByRole("link", { name: "assistant" }).click();
  await expect.poll(() => page.url()).toContain("#/agents/assistant");

  await page.evaluate('location.hash = "#/agents/clerk"');
  const tools = page.getByRole("list", { name: "Tools" });
  await tools.getByText("not repeated after a crash").waitFor();
  await tools.getByText("send_letter", { exact: true }).first().click();
  await tools.getByText("address").first().waitFor();
});

test(
  "Enter on a button of the form does not send, and JSON is sent once and never dropped",
  { tags: "long" },
  async ({ skip }) => {
    await using tab = await open(skip, `${server.url}/#/agents/clerk`);
    const { page } = tab;
    let sent = 0;
    const held = Promise.withResolvers<void>();
    await page.route("**/process", async (route) => {
      sent += 1;
      await held.promise;
      await route.continue();
    });
    await page.getByLabel("Message to clerk").fill("not yet");
    await page.getByRole("button", { name: "curl" }).press("Enter");
    await page.getByRole("status").filter({ hasText: /cop/i }).waitFor();
    expect(sent).toBe(0);

    await page.evaluate('location.hash = "#/agents/payments?operation=pay"');
    await page.getByRole("button", { name: "as JSON" }).click();
    const json = page.getByLabel("Input as JSON");
    await json.fill('{"to": "eve", ');
    await page.getByRole("button", { name: "as a form" }).click();
    await page.getByText("is not JSON").waitFor();
    expect(await json.inputValue()).toBe('{"to": "eve", ');
    await json.fill('{"to": "eve", "amount": 5}');
    await settle(page.getByRole("button", { name: "Send" }));
    await json.press("Control+Enter");
    await page.keyboard.press("Control+Enter");
    await page.keyboard.press("Control+Enter");
    await expect.poll(() => sent).toBe(1);
    held.resolve();
    await page.getByRole("button", { name: "Yes" }).waitFor();
    expect(sent).toBe(1);
  },
);

test("an operation that only reads shows its answer, and no run", { tags: "long" }, async ({ skip }) => {
  await using tab = await open(skip, `${server.url}/#/agents/clerk?operation=open_letters`);
  const { page } = tab;
  await page.getByLabel("box").fill("red");
  await press(page.getByRole("button", { name: "Send" }));
  const answer = page.getByRole("region", { name: "Answer" });
  await answer.getByText("letters").waitFor();
  await answer.getByText("7", { exact: true }).waitFor();
  expect(await answer.getByRole("link", { name: "Open the run" }).count()).toBe(0);
  expect((await server.runtime.runs({ agent: "clerk", limit: 9 })).runs).toEqual([]);
});
