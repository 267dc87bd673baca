import { join } from "node:path";
import axe from "axe-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { broken } from "./harness/agents.ts";
import { useBrowser } from "./harness/browser.ts";
import { bakery, shop } from "./harness/machine.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

/** A folder for screenshots of all views; none are kept by default. */
const screenshots = process.env["SCREENSHOTS"];

let server: ConsoleServer;
/** All views by name: the address, and a text that is there when the view is. */
let views: Readonly<Record<string, readonly [fragment: string, text: string]>> = {};

beforeAll(async () => {
  server = await startConsole([broken, bakery, shop]);
  const atRest = { wait: "completed" };
  const waiting = await server.start("assistant", "what is 6 / 3, and pay bob that much", atRest);
  const done = await server.start("team", "octopuses", atRest);
  const failed = await server.start("broken", "the printer is on fire", atRest);
  const machine = await server.start("bakery", "bread", atRest);
  const ordered = await server.start("shop", "a lamp", atRest);
  const { request_id: queued } = await server.start("shop", "a chair", {
    run_id: ordered.run_id,
    on_busy: "enqueue",
  });
  await server.runtime.status(queued);
  views = {
    runs: ["#/runs", "octopuses"],
    "runs-none": ["#/runs?agent=nobody", "No run fits"],
    waiting: [`#/runs/${waiting.run_id}`, "Pay 2 to bob?"],
    done: [`#/runs/${done.run_id}`, "done"],
    failed: [`#/runs/${failed.run_id}`, "the printer is on fire"],
    past: [`#/runs/${waiting.run_id}?at=5`, "as of event 5"],
    timeline: [`#/runs/${waiting.run_id}/timeline`, "worked"],
    statechart: [`#/runs/${machine.run_id}/statechart`, "Takes"],
    sequence: [`#/runs/${waiting.run_id}/sequence`, "calculator.divide"],
    actors: [`#/runs/${done.run_id}/actors`, "researcher"],
    state: [`#/runs/${waiting.run_id}/state`, "friendly assistant"],
    "state-past": [`#/runs/${ordered.run_id}/state?at=2`, "As of event 2"],
    "state-machine": [`#/runs/${ordered.run_id}/state`, "on account"],
    files: [`#/runs/${done.run_id}/files`, "No file has been"],
    compare: [`#/compare/${done.run_id}/${waiting.run_id}`, "They begin to differ"],
    events: [`#/runs/${done.run_id}/events`, "15 events"],
    inbox: ["#/inbox", "How it came here"],
    health: ["#/health", "Version"],
    api: ["#/api?route=postProcess", "Accepts a request"],
    schema: ["#/api?schema=ToolCall", "schema"],
    agents: ["#/agents", "Repeats a text"],
    agent: ["#/agents/payments?operation=pay", "amount"],
    "agent-model": ["#/agents/assistant", "Asks the model scripted"],
    "no-run": ["#/runs/run_missing", "There is no such run"],
    "no-place": ["#/nowhere", "There is no such place"],
  };
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();

test.for([
  ["light", 1280, 800],
  ["dark", 360, 740],
] as const)(
  "every view in the %s theme, %d pixels wide, is accessible and nothing in it sticks out",
  async ([theme, width, height], { skip }) => {
    // A run that does not exist is answered with 404, which the browser reports.
    await using tab = await open(skip, server.url, { theme, width, height, expected: /404/ });
    const { page } = tab;
    await page.evaluate(axe.source);
    for (const [name, [fragment, text]] of Object.entries(views)) {
      await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
      await page.getByRole("main").getByText(text).first().waitFor();
      if (screenshots !== undefined) {
        await page.screenshot({ path: join(screenshots, `${name}-${theme}-${width}.png`) });
      }
      const found: unknown = await page.evaluate(LOOK);
      expect.soft(found, `${name}, ${theme}, ${width}`).toEqual({ faults: [], wide: [], small: [] });
    }
  },
);

/** What assistive technology would stumble over, what is wider than the page, and text that is too small. */
const LOOK = `(async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  const faults = violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" "));
  const shown = [...document.querySelectorAll("#console *")].filter((element) => element.checkVisibility());
  const scrolls = (element) => element !== null &&
    (/auto|scroll|hidden|clip/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  const wide = shown
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !scrolls(element.parentElement))
    .map((element) => element.outerHTML.slice(0, 120));
  const main = document.querySelector("main");
  if (main.scrollWidth > main.clientWidth) wide.push("the place scrolls sideways");
  const small = shown
    .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ""))
    .filter((element) => parseFloat(getComputedStyle(element).fontSize) < 12)
    .map((element) => element.outerHTML.slice(0, 120));
  return { faults, wide, small };
})()`;
