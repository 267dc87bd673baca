/** @module-tag long */
// The pages of examples/web in a browser, against a server.
import { readFile } from "node:fs/promises";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createRuntime, memoryLog } from "troupe";
import { createApp } from "troupe/http";
import { expect, test } from "vitest";
import { payments } from "../../agents/payments.ts";
import { useBrowser } from "../console/harness/browser.ts";

const openTab = useBrowser();

test("a page without a bundler keeps its conversation over a reload in mid-turn, in two tabs and over a killed server", async ({
  skip,
}) => {
  const log = { ...memoryLog(), close: async () => {} };
  let server = await startPage(log);
  await using tab = await openTab(skip, `${server.url}/page`, { expected: /ERR_|Failed to load/ });
  const { page } = tab;
  await page.getByLabel("Text").fill("pay 3 to bob");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("status").filter({ hasText: "waiting" }).waitFor();
  await page.reload();
  await page.getByRole("group", { name: "Question" }).waitFor();

  await using second = await openTab(skip, page.url(), { beside: tab, expected: /ERR_|Failed to load/ });
  const question = second.page.getByRole("group", { name: "Question" });
  await question.waitFor();

  await server.stop();
  await page.getByRole("status").filter({ hasText: "lost" }).waitFor();
  server = await startPage(log, server.port);
  await page.getByRole("status").filter({ hasText: "waiting" }).waitFor();
  await second.page.getByRole("status").filter({ hasText: "waiting" }).waitFor();
  await second.page.getByRole("button", { name: "Yes" }).click();
  const said = page.getByLabel("Conversation").filter({ hasText: "Paid 3 to bob." });
  await said.waitFor();
  expect(await said.textContent()).toBe("> pay 3 to bob\nPaid 3 to bob.\n");
  await page.getByRole("status").filter({ hasText: "idle" }).waitFor();
  await server.stop();
});

/** Serves the page and the agents. */
async function startPage(
  log: Parameters<typeof createRuntime>[0]["log"],
  port = 0,
): Promise<{ readonly url: string; readonly port: number; stop(): Promise<void> }> {
  const html = await readFile(new URL("../../examples/web/page/index.html", import.meta.url), "utf8");
  const code = await readFile(
    fileURLToPath(new URL("../../dist/client/browser.js", import.meta.url)),
    "utf8",
  );
  const runtime = createRuntime({ agents: [payments], ...(log && { log }) });
  const app = new Hono();
  app.get("/page", (c) => c.html(html));
  app.get("/browser.js", (c) => c.body(code, 200, { "content-type": "text/javascript" }));
  app.route("/", createApp(runtime));
  const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port, overrideGlobalObjects: false });
  await once(server, "listening");
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    async stop() {
      const closed = once(server, "close");
      server.close();
      if ("closeAllConnections" in server) server.closeAllConnections();
      await closed;
      await runtime.close();
    },
  };
}
