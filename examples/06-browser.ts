// Serves a page that streams the texts of an agent, and opens it in Chromium or Chrome.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "@hono/node-server";
import { chromium } from "playwright-core";
import { rolldown } from "rolldown";
import { createRuntime } from "troupe";
import { createApp } from "troupe/http";
import { ticker } from "../agents/ticker.ts";

const executablePath = findBrowser();
if (executablePath === undefined) {
  console.error(
    "needs Chromium or Chrome: install one (apt-get install chromium) or set CHROMIUM to its path",
  );
  process.exit(77); // The exit code by which test programs report that they were skipped.
}

const page = await readFile(new URL("06-browser.html", import.meta.url), "utf8");
// The client runs in browsers; a page gets it in one file.
const bundle = await rolldown({
  input: fileURLToPath(import.meta.resolve("troupe/client")),
  platform: "browser",
  logLevel: "silent",
});
const [client] = (await bundle.generate({ format: "es", minify: true })).output;

// The app is an ordinary Hono app: you can add routes, and any Hono server can serve it.
const runtime = createRuntime({ agents: [ticker] });
const app = createApp(runtime);
app.get("/page", (c) => c.html(page));
app.get("/client.js", (c) => c.body(client.code, 200, { "content-type": "text/javascript" }));
const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0, overrideGlobalObjects: false });
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/page`;

const browser = await chromium.launch({
  executablePath,
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

  // This turn counts for hours, so the page shows its texts while the agent still counts.
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

/** Finds the browser named by `CHROMIUM`, or one with a usual name in the PATH or in a usual place. */
function findBrowser(): string | undefined {
  const named = process.env["CHROMIUM"];
  if (named !== undefined) return [named].find(existsSync);
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return [
    ...folders.flatMap((folder) => names.map((name) => join(folder, name))),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
  ].find(existsSync);
}
