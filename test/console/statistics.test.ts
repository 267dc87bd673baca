import { defineAgent } from "troupe";
import type { Model } from "troupe";
import { afterAll, beforeAll, expect, test } from "vitest";
import { broken } from "./harness/agents.ts";
import { useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

const toModel = (name: string, cost?: number): Model => ({
  name,
  async *generate() {
    const used = { input_tokens: 40, cached_input_tokens: 10, output_tokens: 20 };
    yield { type: "result", result: "ok", usage: { ...used, ...(cost !== undefined && { cost }) } };
  },
});

const desk = defineAgent({
  name: "desk",
  purpose: "Asks a model with a price, or one without.",
  async chat(input, turn) {
    const model = input === "free" ? toModel("unpriced") : toModel("meter", 1.25);
    await turn.complete({ model, input: { messages: [] } });
    return "done";
  },
});

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole([broken, desk], {
    authenticate: ({ headers }) =>
      headers.get("x-owner") === null
        ? { id: "ops", owner: "default", roles: ["operator"] }
        : { id: "ann", owner: "acme", roles: ["user"] },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();

test("spend is shown by agent, model, owner and hour, and an unknown cost is called so", async ({ skip }) => {
  await using tab = await open(skip, `${server.url}/#/statistics`);
  const { page } = tab;
  const table = (name: string) => page.getByRole("region", { name });
  await table("By model").getByText("No model was asked in this time.").waitFor();
  expect(await page.getByRole("link", { name: "Ask an agent →" }).getAttribute("href")).toBe("#/agents");

  await server.start("desk", "hello", { wait: "completed" });
  await server.start("desk", "free", { wait: "completed" });
  await page.reload();
  await table("By agent").getByRole("row", { name: "desk 2 120 $1.25 + unknown" }).waitFor();
  expect(await page.getByRole("link", { name: "Ask an agent →" }).count()).toBe(0);
  await table("By model").getByRole("row", { name: "meter 1 60 $1.25" }).waitFor();
  await table("By model").getByRole("row", { name: "unpriced 1 60 unknown" }).waitFor();
  await table("By hour").getByText("$1.25 + unknown").waitFor();
  await page.getByRole("img", { name: "Spend by the hour: $1.25 this hour, at most $1.25" }).waitFor();
  // With the default owner alone, there is nothing to tell apart.
  expect(await table("By owner").count()).toBe(0);

  const body = JSON.stringify({ type: "ChatRequest", input: "hello", wait: "completed" });
  const headers = { "content-type": "application/json", "x-owner": "acme" };
  await fetch(`${server.url}/desk/process`, { method: "POST", headers, body });
  await page.reload();
  await table("By owner").getByRole("row", { name: "acme 1 60 $1.25" }).waitFor();

  await page.getByLabel("Time").selectOption("month");
  await table("By day").getByText("$2.50 + unknown").waitFor();
  expect(page.url()).toContain("range=month");

  await page.goto(`${server.url}/#/runs`);
  await page.getByText("3 runs").waitFor();
  await page.getByText("More filters").click();
  await page.getByLabel("Owner").fill("acme");
  await page.getByLabel("Owner").press("Enter");
  await page.getByText("1 run", { exact: true }).waitFor();
  expect(page.url()).toContain("owner=acme");
});

test(
  "failures are grouped by their error and lead to their runs; latency is shown by operation",
  { tags: "long" },
  async ({ skip }) => {
    const { run_id: runId } = await server.start("broken", "no printer", { wait: "completed" });
    await using tab = await open(skip, server.url);
    const { page } = tab;
    await page.keyboard.press("Control+k");
    await page.getByLabel("Go to a place, an agent or a run").fill("failures");
    await page.keyboard.press("Enter");
    const errors = page.getByRole("region", { name: "By error" });
    await errors.getByRole("row", { name: "agent_error broken 1" }).waitFor();
    expect(await errors.getByRole("link", { name: runId }).count()).toBe(1);
    await errors.getByRole("link", { name: "agent_error" }).click();
    await page.getByRole("list", { name: "Runs" }).getByText("no printer").first().waitFor();
    expect(page.url()).toContain("agent=broken&error=agent_error&since=day");

    await page.goBack();
    await page.getByRole("tab", { name: "Latency" }).click();
    const turns = page.getByRole("region", { name: "Turns by operation" });
    await turns.getByRole("row", { name: /^broken chat 1 \d+ ms \d+ ms \d+ ms$/ }).waitFor();
    expect(page.url()).toContain("view=latency");
  },
);

test(
  "sums that cannot be read say why, and what was read before is marked",
  { tags: "long" },
  async ({ skip }) => {
    await using tab = await open(skip, `${server.url}/#/statistics?view=failures`, { expected: /503/ });
    const { page } = tab;
    await page.getByRole("region", { name: "By error" }).waitFor();
    const problem = { code: "unavailable", detail: "the database does not answer" };
    await page.route("**/statistics?*", (route) =>
      route.fulfill({ status: 503, contentType: "application/problem+json", body: JSON.stringify(problem) }),
    );
    await page.getByLabel("Time").selectOption("week");
    await page.getByRole("alert").getByText("the database does not answer").waitFor();
    await page.getByText("What is below was read before.").waitFor();
    expect(await page.locator(".sums-body.stale").count()).toBe(1);
    await page.unroute("**/statistics?*");
    await page.getByLabel("Time").selectOption("month");
    await page.getByRole("alert").waitFor({ state: "detached" });
  },
);
