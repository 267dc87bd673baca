/** @module-tag long */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { startCommand } from "../cli/command.ts";
import type { RunningCommand } from "../cli/command.ts";
import { useBrowser } from "./harness/browser.ts";

const root = resolve(import.meta.dirname, "../..");
const open = useBrowser();

test("a server that is killed under an open page and started again leaves no gap, and the page says what happened", async ({
  skip,
}) => {
  const data = await mkdtemp(join(tmpdir(), "troupe-console-"));
  const first = start(data, 0);
  const url = (await first.match(/http:\/\/[\d.:]+/))[0];
  // While there is no server, the browser reports each attempt.
  await using tab = await open(skip, url, { expected: /ERR_|Failed to load|404/ });
  const { page } = tab;
  const begun = await fetch(`${url}/ticker/process`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ type: "ChatRequest", input: "60 100" }),
  });
  const { run_id: runId } = (await begun.json()) as { readonly run_id: string };
  await page.evaluate(`location.hash = "#/runs/${runId}"`);
  await page.getByRole("slider").waitFor();
  await expect.poll(() => head(page)).toBeGreaterThan(10);
  first.kill("SIGKILL");
  await first.exited;
  await page.getByText("Nothing is lost; reading continues after event").waitFor();
  // Said once, also by the page around the run, and on a phone it leaves room for the places.
  await expect.poll(() => page.getByText("No connection").filter({ visible: true }).count()).toBe(2);
  await page.setViewportSize({ width: 390, height: 740 });
  await expect.poll(() => page.getByText("No connection").filter({ visible: true }).count()).toBe(1);
  expect(await page.evaluate(HAS_ROOM)).toBe(true);
  await page.setViewportSize({ width: 1280, height: 800 });
  const second = start(data, Number(new URL(url).port));
  await second.match(/http:\/\/[\d.:]+/);
  await page.getByText(/Read on from event \d+/).waitFor();
  await page.getByRole("log").getByText("done").waitFor();
  await expect.poll(() => page.getByText("No connection since").count()).toBe(0);

  const logged = (await (await fetch(`${url}/events/${runId}?since=0`)).json()) as readonly {
    readonly id: number;
    readonly type: string;
    readonly content?: string;
  }[];
  expect(logged.map(({ id }) => id)).toEqual(logged.map((_, at) => at + 1));
  expect(await head(page)).toBe(logged.length);
  const said = logged.map(({ type, content = "" }) => (type === "TextOutput" ? content : "")).join("");
  const shown = (await page.locator(".prose").nth(1).textContent()) ?? "";
  expect(shown.replace(/\s+/g, "")).toBe(said.replace(/\s+/g, ""));

  // The place of the restart is marked, between the last event before it and the first one behind it.
  const timeline = page.getByRole("group", { name: "Timeline" });
  await timeline.getByText("started again").waitFor();
  await page.getByRole("tab", { name: "Events" }).click();
  await page.getByLabel("type").selectOption("RequestCompleted");
  await page.getByText(/^1 of \d+ events$/).waitFor();
  expect(await page.getByRole("grid").getByText("started again").count()).toBe(0);
  await page.getByLabel("type").selectOption("");
  const marks = (await (await fetch(`${url}/inspect/runs/${runId}`)).json()) as {
    readonly marks: readonly { readonly type: string; readonly after: number }[];
  };
  const after = marks.marks.find(({ type }) => type === "recovered")?.after ?? 0;
  await page.getByRole("searchbox", { name: "Search in events" }).fill(`"id":${after + 1},`);
  await page.getByRole("row", { name: /started again/ }).waitFor();
  expect(await page.getByTitle(`started again at event ${after}`).count()).toBe(1);
  second.kill();
  await second.exited;
  await rm(data, { recursive: true, force: true });
});

function start(data: string, port: number): RunningCommand {
  return startCommand(["serve", "--console", `--port=${port}`, `--data=${data}`, "--wires=none"], {
    cwd: root,
  });
}

interface WithSlider {
  getByRole(role: "slider"): { getAttribute(name: string): Promise<string | null> };
}

/** The number of events that the page knows. */
async function head(page: WithSlider): Promise<number> {
  return Number(await page.getByRole("slider").getAttribute("aria-valuemax"));
}

/** Whether the places of the bar end before what is at its end. */
const HAS_ROOM = `document.querySelector(".bar .more").getBoundingClientRect().right <=
  document.querySelector(".bar > .end").getBoundingClientRect().left`;
