// The hooks in a page with React, against a server.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { createRuntime } from "troupe";
import { createClient } from "troupe/client";
import { createApp } from "troupe/http";
import type { AppOptions } from "troupe/http";
import { useAgent, useRun } from "troupe/react";
import { expect, onTestFinished, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { payments } from "../../agents/payments.ts";
import { bundle } from "../client/bundle.ts";
import { useBrowser } from "../console/harness/browser.ts";
import { findBlocks } from "../docs/blocks.ts";

const CHAT = new URL("chat-page.ts", import.meta.url);
const LOGIN = new URL("login-page.ts", import.meta.url);
const openTab = useBrowser();

test("a component has a conversation, and another one shows its run", async ({ skip }) => {
  await using tab = await openTab(skip, await startPage(await readFile(CHAT, "utf8")), { expected: /422/ });
  const { page } = tab;
  const shows = (label: string, text: string): Promise<void> =>
    page.getByLabel(label, { exact: true }).filter({ hasText: text }).waitFor();
  const click = (name: string): Promise<void> => page.getByRole("button", { name, exact: true }).click();

  await shows("State", "idle");
  await page.getByLabel("Text").fill("pay 3 to bob");
  await click("Send");
  await shows("State", "waiting");
  await shows("Chat", "(input)|(wait)");
  await shows("Copy", "1 turns, live");
  await click("Yes");
  await shows("Chat", "(input)|(wait)|(answer)|Paid 3 to bob.");
  await shows("State", "idle");

  await click("Toggle");
  await page.getByLabel("Copy").waitFor({ state: "detached" });
  await click("Pay eve");
  await shows("State", "waiting");
  await click("Toggle");
  await shows("Copy", "2 turns, live");
  await click("Stop");
  await shows("State", "idle");

  await shows("Error", "none");
  await click("Pay nobody");
  await shows("Error", "unprocessable");
  expect(await page.getByLabel("State").textContent()).toBe("idle");
});

test(
  "a conversation begins again with other credentials, also when its client is made while rendering",
  { tags: "long" },
  async ({ skip }) => {
    const token = "the-token-of-the-server";
    const address = await startPage(await readFile(LOGIN, "utf8"), { token });
    await using tab = await openTab(skip, address, { expected: /401/ });
    const { page } = tab;
    const shows = (label: string, text: string): Promise<void> =>
      page.getByLabel(label, { exact: true }).filter({ hasText: text }).waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    await shows("Error", "unauthorized");
    await page.getByLabel("Token").fill(token);
    await shows("Error", "none");
    await page.getByRole("button", { name: "Send" }).click();
    await shows("Chat", "hello");
    // What one person said is not shown to the next.
    await page.getByLabel("Token").fill("of another person");
    await expect.poll(() => page.getByLabel("Chat").textContent()).toBe("");
  },
);

test("a component is rendered on a server without a connection", () => {
  const offline: typeof fetch = () => {
    throw new Error("a server must not connect");
  };
  const client = createClient("http://127.0.0.1:9", { fetch: offline });
  const Page = (): string => {
    const { view, connection } = useRun(client, "run_1");
    return `${view.status} ${connection.state} ${useAgent(client.agent("echo")).pending}`;
  };
  expect(renderToString(createElement(Page))).toBe("idle idle false");
});

test("the component of the guide works with Preact", { tags: "long" }, async ({ skip }) => {
  const [program = ""] = findBlocks("docs/guide/client.md", "### With Preact", "js");
  await using tab = await openTab(skip, await startPage(program));
  await tab.page.getByRole("button", { name: "Ask" }).click();
  const answer = tab.page.getByText("to be or not to be");
  await answer.waitFor();
  expect(await answer.count()).toBe(1);
});

/** Serves a page with a program, and the agents; returns its address. */
async function startPage(program: string, options: AppOptions = {}): Promise<string> {
  const code = await bundle(program);
  const runtime = createRuntime({ agents: [echo, payments] });
  const app = new Hono();
  app.get("/page", (c) => c.html(PAGE));
  app.get("/page.js", (c) => c.body(code, 200, { "content-type": "text/javascript" }));
  app.route("/", createApp(runtime, options));
  const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0, overrideGlobalObjects: false });
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    await runtime.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/page`;
}

const PAGE = `<!doctype html>
<link rel="icon" href="data:,">
<div id="root"></div>
<script type="module" src="page.js"></script>`;
