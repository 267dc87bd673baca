// Serves a page with `useChat` of the AI SDK, which talks to an agent without a backend of its own, and opens it in a browser.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { serve } from "@hono/node-server";
import { chromium } from "playwright-core";
import { rolldown } from "rolldown";
import { createRuntime } from "troupe";
import { ui } from "troupe/adapters/ui";
import { createApp } from "troupe/http";
import { payments } from "../agents/payments.ts";

const executablePath = findBrowser();
if (executablePath === undefined) {
  console.error(
    "needs Chromium or Chrome: install one (apt-get install chromium) or set CHROMIUM to its path",
  );
  process.exit(77); // The exit code by which test programs report that they were skipped.
}

const page = await readFile(new URL("18-use-chat.html", import.meta.url), "utf8");
// The packages of the page in one file.
const PACKAGES = `
  export { createElement } from "react";
  export { createRoot } from "react-dom/client";
  export { useChat } from "@ai-sdk/react";
  export { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";`;
const entry = join(import.meta.dirname, "packages.js");
const bundle = await rolldown({
  input: entry,
  platform: "browser",
  logLevel: "silent",
  plugins: [
    {
      name: "packages",
      resolveId: (id) => (id === entry ? id : null),
      load: (id) => (id === entry ? PACKAGES : null),
    },
  ],
});
const [packages] = (await bundle.generate({ format: "es", minify: true })).output;

const runtime = createRuntime({ agents: [payments] });
const app = createApp(runtime, { adapters: [ui()] });
app.get("/page", (c) => c.html(page));
app.get("/packages.js", (c) => c.body(packages.code, 200, { "content-type": "text/javascript" }));
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
  await tab.getByLabel("Text").fill("pay 30 to bob");
  await tab.getByRole("button", { name: "Send" }).click();
  await tab.getByText("Pay 30 to bob?").waitFor();

  // The question is still there when the page is opened again.
  await tab.reload();
  await tab.getByRole("button", { name: "Yes" }).click();
  await tab.getByText("Paid 30 to bob.").waitFor();
  console.log(await tab.getByRole("article").last().textContent());
  assert.deepEqual(errors, []);
} finally {
  await browser.close();
  server.close();
  await runtime.close();
}

/** Finds the browser named by `CHROMIUM`, or one with a usual name in the PATH. */
function findBrowser(): string | undefined {
  const named = process.env["CHROMIUM"];
  if (named !== undefined) return [named].find(existsSync);
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(existsSync);
}
