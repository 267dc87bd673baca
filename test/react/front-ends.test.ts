/** @module-tag long */
// The examples that need packages of their own in a browser, on the server of their framework, which renders in StrictMode.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, memoryLog } from "troupe";
import { serve } from "troupe/node";
import type { ServeOptions } from "troupe/node";
import { beforeAll, describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { payments } from "../../agents/payments.ts";
import { afterLastTest, startProgram } from "../cli/command.ts";
import { useBrowser } from "../console/harness/browser.ts";
import { root } from "../house/packed.ts";
import { skipWithout } from "../machine/skip-without.ts";

const openTab = useBrowser();
const EXPECTED = /ERR_|Failed to load|WebSocket/;

describe.each([
  ["next", "next/dist/bin/next", ["dev", "--hostname", "127.0.0.1", "--port", "0"]],
  ["vite", "vite/bin/vite.js", ["--host", "127.0.0.1", "--port", "0"]],
])("the example for %s", { timeout: 120_000 }, (name, program, args) => {
  const folder = join(root, "examples/web", name);
  const file = join(folder, "node_modules", program);
  const atEnd = afterLastTest();
  const log = { ...memoryLog(), close: async () => {} };
  let agents: Agents;
  let url = "";

  beforeAll(async () => {
    if (!existsSync(file)) return;
    agents = await startAgents(log);
    atEnd(() => agents.stop());
    const env = { TROUPE_URL: agents.url, NEXT_TELEMETRY_DISABLED: "1" };
    const server = startProgram(process.execPath, [file, ...args], {
      cwd: folder,
      env,
      hasGroup: true,
      atEnd,
    });
    [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    // The proxy passes the origin of the page on, and only now is it known.
    const { port } = new URL(agents.url);
    await agents.stop();
    agents = await startAgents(log, { port: Number(port), allowedOrigins: [url] });
  }, 120_000);

  test("keeps its conversation over a reload in mid-turn, in two tabs, over a killed server and when it is taken away", async ({
    skip,
  }) => {
    if (!existsSync(file)) skipWithout(skip, NOTE);
    await using tab = await openTab(skip, url, { expected: EXPECTED });
    const { page } = tab;
    page.setDefaultTimeout(60_000);
    await page.getByLabel("Message").fill("pay 3 to bob");
    await page.getByRole("button", { name: "Send" }).click();
    await inState(page, "waiting");
    await page.reload();
    await inState(page, "waiting");

    await using second = await openTab(skip, page.url(), { beside: tab, expected: EXPECTED });
    second.page.setDefaultTimeout(60_000);
    await inState(second.page, "waiting");

    const { port } = new URL(agents.url);
    await agents.stop();
    await inState(page, "lost");
    agents = await startAgents(log, { port: Number(port), allowedOrigins: [url] });
    await inState(page, "waiting");

    await page.getByRole("button", { name: "Hide" }).click();
    await page.locator(".troupe-conversation").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Show" }).click();
    await inState(page, "waiting");

    await second.page.getByRole("button", { name: "Yes" }).click();
    await page.locator(".troupe-text", { hasText: "Paid 3 to bob." }).waitFor();
    await inState(page, "idle");
    expect(await page.locator(".troupe-input").allTextContents()).toEqual(["pay 3 to bob"]);
    expect(await page.locator(".troupe-text").allTextContents()).toEqual(["Paid 3 to bob."]);
  });

  test("has the style of the components, light and dark", async ({ skip }) => {
    if (!existsSync(file)) skipWithout(skip, NOTE);
    const colours = [];
    for (const theme of ["light", "dark"] as const) {
      await using tab = await openTab(skip, url, { theme, expected: EXPECTED });
      const pane = tab.page.locator(".troupe-conversation");
      colours.push(
        await pane.evaluate((shown) => {
          const page = globalThis as unknown as {
            getComputedStyle(of: unknown): { backgroundColor: string };
          };
          return page.getComputedStyle(shown).backgroundColor;
        }),
      );
    }
    expect(colours).toEqual(["rgb(255, 255, 255)", "rgb(23, 24, 28)"]);
  });

  test.runIf(name === "vite")("has the conversation with the parts of assistant-ui", async ({ skip }) => {
    if (!existsSync(file)) skipWithout(skip, NOTE);
    await using tab = await openTab(skip, `${url}/assistant.html`, { expected: EXPECTED });
    const { page } = tab;
    page.setDefaultTimeout(60_000);
    await page.getByLabel("Message").fill("pay 4 to eve");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("group", { name: "Question" }).filter({ hasText: "Pay 4 to eve?" }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Yes" }).click();
    await page.locator(".message", { hasText: "Paid 4 to eve." }).waitFor();
    expect(await page.locator(".message").allTextContents()).toEqual(["pay 4 to eve", "Paid 4 to eve."]);
  });
});

const NOTE = "needs the packages of the examples: run .ci/front-ends";

async function inState(page: Page, status: string): Promise<void> {
  await page.locator(`.troupe-conversation[data-status="${status}"]`).waitFor();
}

interface Agents {
  readonly url: string;
  stop(): Promise<void>;
}

/** Serves the agent over a log that outlives the server. */
async function startAgents(
  log: ReturnType<typeof memoryLog>,
  options: ServeOptions = { port: 0 },
): Promise<Agents> {
  const runtime = createRuntime({ agents: [payments], log });
  const server = await serve(runtime, options);
  return {
    url: server.url,
    async stop() {
      await server.close({ graceMs: 0 });
      await runtime.close();
    },
  };
}
