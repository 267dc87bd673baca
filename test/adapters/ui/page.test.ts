/** @module-tag long */
// `useChat` in a page, against a server.
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve as servePage } from "@hono/node-server";
import { Hono } from "hono";
import { createRuntime } from "troupe";
import type { Agent } from "troupe";
import { ui } from "troupe/adapters/ui";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { assistant } from "../../../agents/assistant.ts";
import { payments } from "../../../agents/payments.ts";
import { bundle } from "../../client/bundle.ts";
import { useBrowser } from "../../console/harness/browser.ts";
import type { Tab } from "../../console/harness/browser.ts";
import { Gates } from "../gates.ts";
import { createStepper } from "./harness/stepper.ts";

const openTab = useBrowser();

let code = "";
beforeAll(async () => {
  code = await bundle(await readFile(new URL("chat-page.ts", import.meta.url), "utf8"));
});

/** A page, and the server of its agents, which has another origin and can be restarted at its address. */
class Site {
  readonly page: string;
  readonly #agents: readonly Agent[];
  readonly #directory: string;
  #port = 0;
  #close: () => Promise<void> = async () => {};

  private constructor(page: string, agents: readonly Agent[], directory: string) {
    this.page = page;
    this.#agents = agents;
    this.#directory = directory;
  }

  static async start(agents: readonly Agent[]): Promise<Site> {
    const app = new Hono();
    app.get("/page", (c) => c.html(PAGE));
    app.get("/page.js", (c) => c.body(code, 200, { "content-type": "text/javascript" }));
    const server = servePage({
      fetch: app.fetch,
      hostname: "127.0.0.1",
      port: 0,
      overrideGlobalObjects: false,
    });
    await once(server, "listening");
    const directory = await mkdtemp(join(tmpdir(), "troupe-ui-page-"));
    const site = new Site(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, agents, directory);
    await site.listen();
    onTestFinished(async () => {
      server.close();
      await site.close();
      await rm(directory, { recursive: true });
    });
    return site;
  }

  get api(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async listen(): Promise<void> {
    const runtime = createRuntime({ agents: this.#agents, log: sqliteLog(this.#directory) });
    await runtime.ready();
    const options = {
      port: this.#port,
      drain: false,
      adapters: [ui()],
      allowedOrigins: [this.page],
    } as const;
    const server = await serve(runtime, options);
    this.#port = Number(new URL(server.url).port);
    this.#close = async () => {
      await server.close();
      await runtime.close();
    };
  }

  close(): Promise<void> {
    return this.#close();
  }

  /** Opens the page with a chat with an agent, over the adapter or over our own protocol. */
  open(skip: (note: string) => never, agent: string, over: Over): Promise<Tab> {
    const api = encodeURIComponent(`${this.api}/ui/${agent}`);
    return openTab(skip, `${this.page}/page?api=${api}${over === "the adapter" ? "" : "&native"}`, {
      others: [this.api],
      expected: /ERR_|net::|Failed to load/,
    });
  }
}

type Over = "the adapter" | "our own protocol";

const ways = ["the adapter", "our own protocol"] as const;

const PAGE = `<!doctype html>
<link rel="icon" href="data:,">
<div id="root"></div>
<script type="module" src="page.js"></script>`;

/** What a test does in a page. */
function actsIn({ page }: Tab): {
  shows(label: string, text: string | RegExp): Promise<void>;
  click(name: string): Promise<void>;
  say(text: string): Promise<void>;
} {
  const click = (name: string): Promise<void> => page.getByRole("button", { name, exact: true }).click();
  return {
    click,
    shows: (label, text) => page.getByLabel(label, { exact: true }).filter({ hasText: text }).waitFor(),
    async say(text) {
      await page.getByLabel("Text").fill(text);
      await click("Send");
    },
  };
}

test.for(ways)(
  "a person says something, sees tools, approves and denies, over %s",
  async (over, { skip }) => {
    const site = await Site.start([assistant, payments]);
    await using tab = await site.open(skip, "assistant", over);
    const { shows, click, say } = actsIn(tab);
    await say("What is 17 * 3? Then pay bob that much.");
    await shows("Chat", "[calculator.multiply output-available]");
    await shows("Chat", "[wait_for_input approval-requested]");
    await click("Approve");
    await shows("Chat", /\[payments.pay output-available\]\[wait_for_input output-available\].*51/);
    await shows("Status", "ready");

    await using other = await site.open(skip, "payments", over);
    const acts = actsIn(other);
    await acts.say("pay 3 to eve");
    await acts.click("Deny");
    await acts.shows("Chat", "assistant: [wait_for_input output-denied]declined");
    await acts.say("pay 4 to eve");
    await acts.shows("Chat", /approval-requested\]$/);
    await acts.say("yes");
    await acts.shows("Chat", /user: yes\|assistant: Paid 4 to eve\.$/);
    await acts.shows("Error", "none");
    await expect.poll(() => other.page.getByLabel("Status").textContent()).toBe("ready");
  },
);

test.for(ways)(
  "a page that is reloaded in the middle of an answer goes on, and stops it, over %s",
  async (over, { skip }) => {
    const gates = new Gates();
    const site = await Site.start([createStepper(gates)]);
    await using tab = await site.open(skip, "stepper", over);
    const { shows, click, say } = actsIn(tab);
    gates.get("one").resolve();
    await say("one two three");
    await shows("Chat", "assistant: one");
    await tab.page.reload();
    await shows("Chat", /^user: one two three\|assistant: one $/);
    gates.get("two").resolve();
    await shows("Chat", /^user: one two three\|assistant: one two $/);
    await shows("Status", "streaming");
    await click("Stop");
    await shows("Status", "ready");
    expect(await tab.page.getByLabel("Chat").textContent()).toBe("user: one two three|assistant: one two ");
  },
);

test("a server that is restarted in the middle of an answer goes on with it", async ({ skip }) => {
  const gates = new Gates();
  const site = await Site.start([createStepper(gates)]);
  await using tab = await site.open(skip, "stepper", "the adapter");
  const { shows, click, say } = actsIn(tab);
  gates.get("one").resolve();
  await say("one two");
  await shows("Chat", "assistant: one");
  await site.close();
  await shows("Status", "error");
  await shows("Error", /network/);
  await site.listen();
  await click("Resume");
  await shows("Status", "streaming");
  gates.get("two").resolve();
  await shows("Status", "ready");
  expect(await tab.page.getByLabel("Chat").textContent()).toBe("user: one two|assistant: one two ");
});

test("over our own protocol a restart of the server in the middle of an answer is not noticed", async ({
  skip,
}) => {
  const gates = new Gates();
  const site = await Site.start([createStepper(gates)]);
  await using tab = await site.open(skip, "stepper", "our own protocol");
  const { shows, say } = actsIn(tab);
  gates.get("one").resolve();
  await say("one two");
  await shows("Chat", "assistant: one");
  await site.close();
  await site.listen();
  await shows("Status", "streaming");
  gates.get("two").resolve();
  await shows("Status", "ready");
  expect(await tab.page.getByLabel("Chat").textContent()).toBe("user: one two|assistant: one two ");
  await shows("Error", "none");
});
