// Takes the screenshots of the README with the built server and the demo agents: npm run screenshots
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { createClient } from "../../../src/client/index.ts";
import { findBrowser } from "./find-browser.ts";

const root = resolve(import.meta.dirname, "../../..");
const folder = join(root, "docs/images");
const SIZE = { width: 1120, height: 760 };
/** The size and the number of the frames of the film, as site/src/site.css has them. */
const FRAME = { width: 1120, height: 700 };
const FRAMES = 8;

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
  await shoot(
    `${url}/#/runs/${await asked.runId}/timeline`,
    "approval",
    "light",
    "[data-call]",
    ".question button:not([aria-disabled])",
  );

  const order = client
    .agent("order")
    .call("book", { item: "a lamp" }, { answer: () => ({ confirmed: true }) });
  await order;
  const run = client.run(await order.runId);
  const { machines } = await run.view();
  const steps = [...machines.values()].flatMap((machine) => machine.steps);
  const packing = steps.find(({ to }) => to?.startsWith("packing"));
  await shoot(
    `${url}/#/runs/${run.id}/statechart?at=${packing?.eventId ?? 1}`,
    "statechart",
    "dark",
    "[data-active]",
  );

  let last = 1;
  for await (const { id } of run.events()) last = id;
  await film(`${url}/#/runs/${run.id}/statechart`, steps[0]?.eventId ?? 1, last);

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

  await shoot(`${url}/#/actors`, "actors", "dark", "li button");
  await shoot(`${url}/#/statistics`, "statistics", "light", "table");

  /** Takes a screenshot when a place shows elements. */
  async function shoot(
    address: string,
    name: string,
    colorScheme: "light" | "dark",
    ...shown: readonly string[]
  ): Promise<void> {
    const page = await browser.newPage({ viewport: SIZE, colorScheme });
    await page.goto(address);
    for (const selector of shown) await page.getByRole("main").locator(selector).first().waitFor();
    await page.screenshot({ path: join(folder, `${name}.png`) });
    console.log(`docs/images/${name}.png`);
  }

  /** Takes the frames of the site's first page: a run as of eight of its events, from the one with the first state of its chart on. */
  async function film(address: string, first: number, last: number): Promise<void> {
    const frames = join(root, "site/public/film");
    await mkdir(frames, { recursive: true });
    const page = await browser.newPage({ viewport: FRAME, colorScheme: "dark" });
    const devtools = await page.context().newCDPSession(page);
    for (let frame = 1; frame <= FRAMES; frame++) {
      const event = Math.round(first + ((last - first) * (frame - 1)) / (FRAMES - 1));
      await page.goto(`${address}?at=${event}`);
      await page.getByRole("main").locator("[data-active]").first().waitFor();
      await page.evaluate("Promise.all(document.getAnimations().map((each) => each.finished))");
      const { data: picture } = await devtools.send("Page.captureScreenshot", {
        format: "webp",
        quality: 70,
      });
      await writeFile(join(frames, `${frame}.webp`), Buffer.from(picture, "base64"));
    }
    console.log(`site/public/film: ${last} events in ${FRAMES} frames`);
  }
} finally {
  const ended = once(server, "exit");
  server.kill();
  await ended;
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
