/** @module-tag long */
import { join } from "node:path";
import axe from "axe-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { beginTurn, createClerk } from "../agents/clerk.ts";
import { broken, vast } from "./harness/agents.ts";
import { useBrowser } from "./harness/browser.ts";
import { bakery, shop } from "./harness/machine.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";
import { shortened } from "../machine/long.ts";

/** A folder for screenshots of all views; none are kept by default. */
const screenshots = process.env["SCREENSHOTS"];

let server: ConsoleServer;
/** All views by name: the address, and a text that is there when the view is. */
let views: Readonly<Record<string, readonly [fragment: string, text: string]>> = {};

beforeAll(async () => {
  const clerk = createClerk();
  const held = await beginTurn(clerk);
  clerk.isChanged = true;
  server = await startConsole([broken, bakery, shop, vast, clerk.agent], { log: held.log });
  await server.runtime.process("clerk", {
    type: "ResumeWithInput",
    request_id: held.requestId,
    wait_id: 2,
    request_keys: { name: "Ada" },
  });
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
  const huge = await server.start(vast.name, LONG_INPUT, atRest);
  views = {
    overview: ["#/", "Newest runs"],
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
    held: [`#/runs/${held.runId}`, "clerk is held: nondeterministic"],
    "held-inbox": [`#/inbox?wait=${held.runId}.held`, "clerk is held: nondeterministic"],
    inbox: ["#/inbox", "How it came here"],
    health: ["#/health", "Turns that ended"],
    spend: ["#/statistics", "By agent"],
    failures: ["#/statistics?view=failures&range=week", "agent_error"],
    latency: ["#/statistics?view=latency&range=month", "Turns by operation"],
    audit: ["#/audit", "There are no entries yet"],
    "live-actors": ["#/actors", "in memory"],
    "live-actor": [`#/actors?actor=${waiting.run_id}`, "Send to it"],
    api: ["#/api?route=postProcess", "Accepts a request"],
    schema: ["#/api?schema=ToolCall", "schema"],
    agents: ["#/agents", "Repeats a text"],
    agent: ["#/agents/payments?operation=pay", "amount"],
    "agent-model": ["#/agents/assistant", "Asks the model scripted"],
    huge: [`#/runs/${huge.run_id}`, "Donau"],
    "huge-timeline": [`#/runs/${huge.run_id}/timeline`, "worked"],
    "huge-sequence": [`#/runs/${huge.run_id}/sequence`, "You"],
    "huge-actors": [`#/runs/${huge.run_id}/actors`, "Donau"],
    "huge-actor": [`#/runs/${huge.run_id}/actors?actor=${huge.request_id}%2F`, "only a-name"],
    "huge-events": [`#/runs/${huge.run_id}/events`, "Donau"],
    "huge-state": [`#/runs/${huge.run_id}/state`, "event"],
    "huge-files": [`#/runs/${huge.run_id}/files`, "Preview"],
    "huge-agent": [`#/agents/${vast.name}`, "Message to"],
    "no-run": ["#/runs/run_missing", "There is no such run"],
    "no-place": ["#/nowhere", "There is no such place"],
  };
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();

const LONG_INPUT = `${"word ".repeat(80)}${"w".repeat(300)} \u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd`;

/** The other two are looked at with the screenshots. */
const looks = [
  ["light", 1280, 800, 1],
  ["dark", 360, 740, 1],
  ["light", 1280, 800, 2],
  ["dark", 1280, 800, 1],
  ["light", 360, 740, 1],
] as const;

test.for(screenshots === undefined ? shortened(looks.slice(0, 3), 1) : looks)(
  "every view in the %s theme, %d by %d pixels at zoom %d, is accessible, and nothing sticks out or overlaps",
  async ([theme, width, height, zoom], { skip }) => {
    // A run that does not exist is answered with 404, which the browser reports.
    await using tab = await open(skip, server.url, { theme, width, height, zoom, expected: /404/ });
    const { page } = tab;
    // A colour that is on its way has no contrast of its own.
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.clock.install();
    await page.evaluate(axe.source);
    for (const [name, [fragment, text]] of Object.entries(views)) {
      await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
      await page.getByRole("main").getByText(text).first().waitFor();
      // The buttons are looked at when they can be pressed.
      await page.clock.fastForward(1_000);
      await page.locator("button[aria-disabled]").first().waitFor({ state: "detached" });
      if (screenshots !== undefined) {
        await page.screenshot({ path: join(screenshots, `${name}-${theme}-${width / zoom}.png`) });
      }
      const found: unknown = await page.evaluate(LOOK);
      const good = { faults: [], wide: [], sideways: [], small: [], cells: [], over: [] };
      expect.soft(found, `${name}, ${theme}, ${width / zoom}`).toEqual(good);
    }
  },
);

/**
 * What assistive technology would stumble over, what is wider than the page, text that is too small, cells that stand below
 * their row, and texts that are drawn over each other.
 */
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
  // These are wider than a phone by their nature.
  const sideways = shown
    .filter((element) => !element.matches("[role=tablist], .sequence, [data-chart], pre, .table"))
    .filter((element) => /auto|scroll/.test(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth + 1)
    .map((element) => element.outerHTML.slice(0, 120));
  const small = shown
    .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ""))
    .filter((element) => parseFloat(getComputedStyle(element).fontSize) < 12)
    .map((element) => element.outerHTML.slice(0, 120));
  const cells = shown
    .filter((element) => element.matches(".row, [role=row], [role=treeitem]"))
    .flatMap((row) => [...row.children].filter((cell) => cell.checkVisibility() && cell.getBoundingClientRect().bottom > row.getBoundingClientRect().bottom + 1))
    .map((cell) => cell.outerHTML.slice(0, 120));
  const clip = (rect, element) => {
    let { left, top, right, bottom } = rect;
    for (let above = element; above !== null; above = above.parentElement) {
      if (getComputedStyle(above).overflow === "visible") continue;
      const box = above.getBoundingClientRect();
      [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
      [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
    }
    return { left, top, right, bottom };
  };
  const texts = shown
    .filter((element) => element.closest("[data-chart], .only-read, option") === null)
    .flatMap((element) => [...element.childNodes].filter((node) => node.nodeType === 3 && node.data.trim() !== ""))
    .flatMap((node) => {
      const range = document.createRange();
      range.selectNodeContents(node);
      return [...range.getClientRects()].map((rect) => ({ node, ...clip(rect, node.parentElement) }));
    })
    .filter(({ left, top, right, bottom }) => right - left > 4 && bottom - top > 4);
  // What has a background of its own hides what is under it.
  const hides = (element, other) => {
    for (let above = element; above !== null && !above.contains(other); above = above.parentElement) {
      const { backgroundColor: colour } = getComputedStyle(above);
      if (colour !== "transparent" && !colour.endsWith(", 0)")) return true;
    }
    return false;
  };
  const over = [];
  for (const [at, a] of texts.entries()) {
    for (const b of texts.slice(at + 1)) {
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (a.node === b.node || width < 3 || height < 5) continue;
      const [one, other] = [a.node.parentElement, b.node.parentElement];
      if (hides(one, other) || hides(other, one)) continue;
      over.push(a.node.data.slice(0, 40) + " over " + b.node.data.slice(0, 40));
    }
  }
  return { faults, wide, sideways, small, cells, over: over.slice(0, 5) };
})()`;
