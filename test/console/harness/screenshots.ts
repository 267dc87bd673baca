// Takes the screenshots of the README with the built server and the demo agents: npm run screenshots
import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { chromium } from "playwright-core";
import { createClient } from "../../../src/client/index.ts";
import { findBrowser } from "./find-browser.ts";

const root = resolve(import.meta.dirname, "../../..");
const folder = join(root, "docs/images");
const SIZE = { width: 1120, height: 760 };
/** The size and the number of the frames of the film, as site/src/site.css has them. */
const FRAME = { width: 1120, height: 700 };
const FRAMES = 8;

type ServerProcess = ChildProcessByStdio<null, Readable, null>;

/** Agents whose models cost what the script says: no price of a provider. */
const DESK = `import { llmAgent, scriptedModel } from "troupe/llm";
const small = scriptedModel(() => "This is a question about a refund.", { name: "small", price: { input: 20, output: 80 } });
const large = scriptedModel(() => "Your order has left the warehouse. ".repeat(12), { name: "large", price: { input: 250, output: 1000 } });
const agent = (name, purpose, model) => llmAgent({ name, purpose, instructions: purpose.repeat(6), model });
export const triage = agent("triage", "Says what a message is about. ", small);
export const support = agent("support", "Answers questions about orders. ", large);
export const writer = agent("writer", "Writes letters to customers. ", large);
`;
const QUESTIONS = {
  triage: ["Where is my money?", "The lamp is broken.", "When do you open?", "I was charged twice."],
  support: ["Where is order 7?", "Can order 9 be sent to Lyon?", "Who has signed for order 4?"],
  writer: ["Tell Ada that her lamp comes on Monday."],
};

const executablePath = findBrowser();
if (executablePath === undefined) throw new Error("install Chromium or Chrome (apt-get install chromium)");
const data = await mkdtemp(join(tmpdir(), "troupe-screenshots-"));
const servers: ServerProcess[] = [];
try {
  const url = await serve(root);
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

  // The models of the demo agents have no price.
  const desk = await serve(await makeDesk());
  for (const [agent, questions] of Object.entries(QUESTIONS)) {
    for (const question of questions) for await (const _ of createClient(desk).agent(agent).chat(question));
  }
  await shoot(`${desk}/#/statistics`, "statistics", "light", "table");

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
  for (const server of servers) {
    const ended = once(server, "exit");
    server.kill();
    await ended;
  }
  await rm(data, { recursive: true, force: true });
}

/** Makes a project whose agents have scripted models with a price. */
async function makeDesk(): Promise<string> {
  const folder = join(data, "desk");
  await mkdir(join(folder, "agents"), { recursive: true });
  await mkdir(join(folder, "node_modules"));
  await symlink(root, join(folder, "node_modules/troupe"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(join(folder, "agents/desk.ts"), DESK);
  return folder;
}

/** Serves the agents of a folder, and returns the address. */
function serve(cwd: string): Promise<string> {
  const options = ["--console", "--port=0", `--data=${join(data, String(servers.length))}`];
  const args = [join(root, "dist/cli/main.js"), "serve", ...options];
  const server = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "inherit"] });
  servers.push(server);
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
