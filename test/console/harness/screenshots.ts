// Takes the screenshots of the README with the built server and the demo agents: npm run screenshots
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { createClient } from "../../../src/client/index.ts";
import { findBrowser } from "./find-browser.ts";

const root = resolve(import.meta.dirname, "../../..");
const folder = join(root, "docs/images");
const SIZE = { width: 1120, height: 760 };

const executablePath = findBrowser();
if (executablePath === undefined) throw new Error("install Chromium or Chrome (apt-get install chromium)");
const data = await mkdtemp(join(tmpdir(), "troupe-screenshots-"));
const args = ["dist/cli/main.js", "serve", "--console", "--port=0", `--data=${data}`];
const server = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
try {
  const url = await readUrl();
  await mkdir(folder, { recursive: true });
  const client = createClient(url);
  await using browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });

  const asked = client.agent("assistant").chat("what is 6 / 3, and pay bob that much");
  for await (const _ of asked);
  await shoot(`${url}/#/runs/${await asked.runId}/timeline`, "approval", "light", "[data-call]");

  const order = client
    .agent("order")
    .call("book", { item: "a lamp" }, { answer: () => ({ confirmed: true }) });
  await order;
  const run = client.run(await order.runId);
  const { machines } = await run.view();
  const packing = [...machines.values()]
    .flatMap(({ steps }) => steps)
    .find(({ to }) => to?.startsWith("packing"));
  await shoot(
    `${url}/#/runs/${run.id}/statechart?at=${packing?.eventId ?? 1}`,
    "statechart",
    "dark",
    "[data-active]",
  );

  for (const [agent, input] of [
    ["echo", "hello"],
    ["team", "the weather in Paris"],
    ["calculator", "what is 12 / 5"],
  ] as const) {
    for await (const _ of client.agent(agent).chat(input));
  }
  // A number cannot be divided by zero.
  await Promise.allSettled([client.agent("calculator").call("divide", { a: 1, b: 0 })]);
  await shoot(`${url}/`, "overview", "light", ".graph-node");

  /** Takes a screenshot when a place shows an element. */
  async function shoot(
    address: string,
    name: string,
    colorScheme: "light" | "dark",
    shown: string,
  ): Promise<void> {
    const page = await browser.newPage({ viewport: SIZE, colorScheme });
    await page.goto(address);
    await page.getByRole("main").locator(shown).first().waitFor();
    await page.screenshot({ path: join(folder, `${name}.png`) });
    console.log(`docs/images/${name}.png`);
  }
} finally {
  server.kill();
  await rm(data, { recursive: true, force: true });
}

function readUrl(): Promise<string> {
  let output = "";
  return new Promise((fulfil, reject) => {
    // Read to its end: a server whose output is not read would stop at a full pipe.
    server.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
      if (found !== undefined) fulfil(found);
    });
    server.once("exit", () => reject(new Error(`the server ended:\n${output}`)));
  });
}
