// A page that streams what an agent says, served by the same app, and a browser that looks at it.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { chromium } from "playwright-core";
import { createRuntime } from "troupe";
import { createApp } from "troupe/http";
import { ticker } from "../agents/ticker.ts";

const page = await readFile(new URL("06-browser.html", import.meta.url), "utf8");

// The app is an ordinary Hono app, to which routes can be added, and which any server of Hono's can serve.
const runtime = createRuntime({ agents: [ticker] });
const app = createApp(runtime);
app.get("/page", (c) => c.html(page));
const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0, overrideGlobalObjects: false });
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/page`;

const browser = await chromium.launch({
  executablePath: ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync) ?? "chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
try {
  const tab = await browser.newPage();
  const errors: Error[] = [];
  tab.on("pageerror", (error) => errors.push(error));
  await tab.goto(url);
  const output = tab.locator("output");

  await tab.getByLabel("How far").fill("3 10");
  await tab.getByRole("button", { name: "Ask" }).click();
  await output.filter({ hasText: "success" }).waitFor();
  assert.equal(await output.textContent(), "1\n2\n3\nsuccess");

  // This one would count for hours, so what the page shows of it has come while the agent was counting.
  await tab.getByLabel("How far").fill("100000 100");
  await tab.getByRole("button", { name: "Ask" }).click();
  await output.filter({ hasText: "3\n" }).waitFor();
  await tab.getByRole("button", { name: "Stop" }).click();
  await output.filter({ hasText: "canceled" }).waitFor();
  const shown = (await output.textContent()) ?? "";
  console.log(shown);
  assert.match(shown, /^1\n2\n3\n(\d+\n)*canceled$/);
  assert.deepEqual(errors, []);
} finally {
  await browser.close();
  server.close();
  await runtime.close();
}
