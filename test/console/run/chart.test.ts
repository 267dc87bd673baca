import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { activePaths } from "../../../src/console/chart/states.ts";
import type { Json } from "../../../src/protocol/json.ts";
import { useBrowser } from "../harness/browser.ts";
import { bakery } from "../harness/machine.ts";
import { startConsole } from "../harness/server.ts";
import type { ConsoleServer } from "../harness/server.ts";
import { shortened } from "../../machine/long.ts";

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole([bakery]);
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();

test.for(
  shortened(
    [
      ["order", "book a lamp", "shipped"],
      ["bakery", "bread", "served"],
    ] as const,
    1,
  ),
)(
  "the chart of %s is lit as the newest StateChanged says, while it moves and at every event afterwards",
  async ([agent, input, last], { skip }) => {
    const { run_id: runId } = await server.start(agent, input, { wait: "completed" });
    await using tab = await open(skip, `${server.url}/#/runs/${runId}/statechart`);
    const { page } = tab;
    await page.locator(`[data-chart=${agent}] [data-active]`).first().waitFor();
    await page.getByRole("button", { name: /^(Yes)$/ }).click();
    await page.locator(`[data-state=${last}][data-active]`).waitFor();
    await page.locator(".turn-line").getByText("done").waitFor();

    const answer = await fetch(`${server.url}/events/${runId}?since=0`);
    const events = (await answer.json()) as readonly { readonly type: string; readonly id: number }[];
    let value: Json | undefined;
    for (const event of events) {
      if (event.type === "StateChanged") ({ value } = event as unknown as { readonly value: Json });
      await page.evaluate(`location.hash = "#/runs/${runId}/statechart?at=${event.id}"`);
      if (event.id < events.length) await page.getByText(`as of event ${event.id} `).waitFor();
      await expect.poll(() => litStates(page)).toEqual([...activePaths(value)].toSorted());
    }
  },
);

test("an agent without a machine says so", { tags: "long" }, async ({ skip }) => {
  const { run_id: runId } = await server.start("payments", "hello", { wait: "completed" });
  await using tab = await open(skip, `${server.url}/#/runs/${runId}/statechart`);
  await tab.page.getByText("payments is a function; only machines have a chart.").waitFor();
  expect(await tab.page.locator("[data-chart]").count()).toBe(0);
});

async function litStates(page: Page): Promise<unknown> {
  return page.evaluate(
    '[...document.querySelectorAll("[data-active]")].map(({ dataset }) => dataset.state).sort()',
  );
}
