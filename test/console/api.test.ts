/** @module-tag long */
import { afterAll, beforeAll, expect, test } from "vitest";
import { press, useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole();
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();

test("a route is found, tried and shown with its answer; its schemas are links", async ({ skip }) => {
  await using tab = await open(skip, server.url);
  const { page } = tab;
  await page.getByRole("link", { name: "API" }).click();
  await page.getByRole("link", { name: "POST /process" }).click();
  await page.getByLabel("Agent").selectOption("echo");
  const body = page.getByLabel("Body");
  await body.fill("{");
  await press(page.getByRole("button", { name: "Send" }));
  await page.getByText("The body is not JSON.").waitFor();
  await body.fill('{ "type": "ChatRequest", "input": "hello there" }');
  await page.getByText("more parameters").click();
  await page.getByLabel("wait", { exact: true }).fill("completed");
  await press(page.getByRole("button", { name: "Send" }));
  const answer = page.getByRole("region", { name: "Answer" });
  await answer.getByText("200 OK").waitFor();
  await answer.getByText("RequestCompleted").waitFor();
  await answer.getByText("hello there").waitFor();

  // The address brings the route back, but nothing that was filled in.
  await page.reload();
  await page.getByRole("heading", { name: "POST /process" }).waitFor();
  expect(await page.getByLabel("Agent").inputValue()).toBe("");
  await page.getByRole("link", { name: "Problem" }).first().click();
  await page.getByRole("region", { name: "Problem" }).getByText("detail").first().waitFor();
});

test(
  "a refusal is shown as it was sent, and a stream as it comes, until it is ended",
  { tags: "long" },
  async ({ skip }) => {
    await using tab = await open(skip, `${server.url}/#/api?route=getRunsByRunId`, { expected: /404/ });
    const { page } = tab;
    await press(page.getByRole("button", { name: "Send" }));
    await page.getByText("run_id is required.").waitFor();
    await page.getByRole("textbox", { name: "run_id" }).fill("run_unknown");
    await press(page.getByRole("button", { name: "Send" }));
    const answer = page.getByRole("region", { name: "Answer" });
    await answer.getByText("404 Not Found").waitFor();
    await answer.getByText("not_found").first().waitFor();

    await page.evaluate('location.hash = "#/api?route=getRuns"');
    await page.getByText("more parameters").click();
    await page.getByLabel("stream").selectOption("true");
    await press(page.getByRole("button", { name: "Send" }));
    await answer.getByText("text/event-stream").waitFor();
    await server.start("echo", "seen in the stream", { wait: "completed" });
    await answer.getByText("seen in the stream").first().waitFor();
    await press(page.getByRole("button", { name: "End", exact: true }));
    await page.getByRole("button", { name: "Send" }).and(page.locator(":enabled")).waitFor();
    expect(await answer.getByText("seen in the stream").count()).toBeGreaterThan(0);
  },
);
