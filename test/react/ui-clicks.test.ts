/** @module-tag long */
// The components of troupe/react/ui as a person uses them, in a page with React.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createRuntime, defineAgent, defineTool } from "troupe";
import { createApp } from "troupe/http";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { bundle } from "../client/bundle.ts";
import { useBrowser } from "../console/harness/browser.ts";

const openTab = useBrowser();

const weigh = defineTool({
  name: "weigh",
  description: "Weighs a parcel.",
  input: z.object({ item: z.string() }),
  run: ({ item }) => ({ grams: item.length * 100 }),
});

const label = defineTool({
  name: "label",
  description: "Prints a label.",
  input: z.object({ to: z.string() }),
  run: ({ to }) => `label for ${to}`,
});

/** Weighs, asks where to and how, prints a label. */
const desk = defineAgent({
  name: "desk",
  purpose: "Sends parcels.",
  tools: [weigh, label],
  async chat(input, turn) {
    await turn.tool(weigh, { item: input });
    const { to, copies, how } = await turn.waitForInput(
      z.object({
        to: z.string().describe("Where to?"),
        copies: z.int().max(3).describe("How many labels?"),
        how: z.enum(["by road", "by air"]).describe("How?"),
        note: z.string().optional().describe("A note"),
      }),
    );
    await turn.tool(label, { to });
    await turn.text(`${copies} to ${to} ${how}`);
  },
});

test("a question is answered by its form, which keeps what the server refuses; calls open, and own views are used", async ({
  skip,
}) => {
  await using tab = await openTab(skip, await startPage(), { expected: /422|400/ });
  const { page } = tab;
  await page.locator(".troupe-conversation > form input").fill("lamp");
  await page.getByRole("button", { name: "Send" }).click();

  const form = page.locator("form.troupe-question");
  await form.getByLabel("Where to?").fill("Oslo");
  await form.getByLabel("How many labels?").fill("7");
  await form.getByLabel("How?").selectOption("by air");
  await form.getByRole("button", { name: "Answer" }).click();
  await form.getByRole("alert").waitFor();
  expect(await form.getByLabel("Where to?").inputValue()).toBe("Oslo");
  expect(await form.getByLabel("How many labels?").inputValue()).toBe("7");
  await form.getByLabel("How many labels?").fill("2");
  await form.getByRole("button", { name: "Answer" }).click();
  await form.waitFor({ state: "detached" });
  await page.locator(".troupe-text", { hasText: "2 to Oslo by air" }).waitFor();

  await page.getByLabel("Weight").filter({ hasText: '{"grams":400}' }).waitFor();
  const call = page.locator("details.troupe-call");
  expect(await call.count()).toBe(1);
  await call.locator("summary").click();
  await call.getByText("label for Oslo").waitFor();
  expect(await call.getByText('"to": "Oslo"').isVisible()).toBe(true);

  const outline = page.locator(".troupe-actors");
  await expect.poll(() => outline.locator("> li").getAttribute("data-outcome")).not.toBe("running");
  expect(await outline.locator("> li > ul > li").allTextContents()).toEqual(["weigh", "label"]);
});

/** Serves the page and the agent; returns its address. */
async function startPage(): Promise<string> {
  const code = await bundle(await readFile(new URL("ui-page.ts", import.meta.url), "utf8"));
  const runtime = createRuntime({ agents: [desk] });
  const app = new Hono();
  app.get("/page", (c) => c.html(PAGE));
  app.get("/page.js", (c) => c.body(code, 200, { "content-type": "text/javascript" }));
  app.route("/", createApp(runtime));
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
