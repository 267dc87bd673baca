import { createRuntime, defineAgent } from "troupe";
import type { Model, Principal, StatisticsAnswer } from "troupe";
import { createApp } from "troupe/http";
import { manualEnvironment } from "troupe/testing";
import { expect, onTestFinished, test } from "vitest";
import { post } from "../server.ts";
import type { App } from "../server.ts";

const PEOPLE: Readonly<Record<string, Principal>> = {
  ann: { id: "ann", owner: "acme", roles: ["user"] },
  bob: { id: "bob", owner: "bolt", roles: ["user"] },
  ops: { id: "ops", owner: "default", roles: ["operator"] },
};

const toModel = (name: string, cost?: number): Model => ({
  name,
  async *generate() {
    const used = { input_tokens: 40, cached_input_tokens: 10, output_tokens: 20 };
    yield { type: "result", result: "ok", usage: { ...used, ...(cost !== undefined && { cost }) } };
  },
});

const desk = defineAgent({
  name: "desk",
  purpose: "Answers.",
  async chat(input, turn) {
    if (input === "fail") throw new Error("it broke");
    const model = input === "free" ? toModel("unpriced") : toModel("meter", 3);
    await turn.complete({ model, input: { messages: [] } });
    return "done";
  },
});

async function serve(): Promise<App> {
  const environment = manualEnvironment();
  const runtime = createRuntime({ agents: [desk], environment });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  const authenticate = ({ headers }: Request): Principal | undefined =>
    PEOPLE[headers.get("authorization") ?? ""];
  const app = createApp(runtime, { authenticate });
  const chat = async (who: string, input: string): Promise<void> => {
    const body = { type: "ChatRequest", input };
    const answer = await post(app, "/desk/process?wait=completed", body, { authorization: who });
    expect(answer.status).toBe(200);
  };
  for (const input of ["hello", "free", "fail"]) await chat("ann", input);
  await chat("bob", "hello");
  return app;
}

async function ask(app: App, query: string, who = "ops"): Promise<StatisticsAnswer> {
  const answer = await app.request(`/statistics${query}`, { headers: { authorization: who } });
  expect(answer.status).toBe(200);
  return (await answer.json()) as StatisticsAnswer;
}

test("statistics say what turns and completions have done, used and cost, in each grouping", async () => {
  const app = await serve();
  const { rows, ...whole } = await ask(app, "");
  expect(whole).toMatchObject({
    by: "agent",
    since: "2026-01-01T00:00:00.000Z",
    from: "2025-12-31T01:00:00.000Z",
    until: "2026-01-01T01:00:00.000Z",
    total: { turns: { success: 3, error: 1, canceled: 0 }, completions: { success: 3, error: 0 } },
  });
  expect(rows).toMatchObject([
    {
      name: "desk",
      turns: { success: 3, error: 1 },
      errors: { agent_error: 1 },
      usage: { input_tokens: 120, cached_input_tokens: 30, output_tokens: 60, cost: 6 },
      unknown_costs: 1,
    },
  ]);
  const names = async (by: string): Promise<readonly string[]> =>
    (await ask(app, `?by=${by}`)).rows.map(({ name, agent = "" }) => `${name} ${agent}`.trim());
  expect(await names("model")).toEqual(["meter", "unpriced"]);
  expect(await names("operation")).toEqual(["chat desk"]);
  expect(await names("owner")).toEqual(["acme", "bolt"]);
  expect(await names("hour")).toEqual(["2026-01-01T00:00:00.000Z"]);
  expect(await names("day")).toEqual(["2026-01-01T00:00:00.000Z"]);
  const [failed] = (await ask(app, "?by=error")).rows;
  expect(failed).toMatchObject({ name: "agent_error", agent: "desk", turns: { error: 1 } });
  const run = await app.request(`/runs/${failed?.run_ids?.[0]}`, { headers: { authorization: "ops" } });
  expect(await run.json()).toMatchObject({ agent: "desk", last_turn: { finish_reason: "error" } });
  expect((await ask(app, "?until=2026-01-01T00:00:00Z")).rows).toEqual([]);
  expect((await ask(app, "?agent=none")).rows).toEqual([]);
  expect((await ask(app, "?by=operation")).rows[0]?.latency?.p95_ms).toBeLessThanOrEqual(10);
});

test("a user sees what is its owner's, and nobody sees what is of others", async () => {
  const app = await serve();
  expect((await ask(app, "?by=owner", "bob")).rows).toMatchObject([{ name: "bolt", turns: { success: 1 } }]);
  expect((await ask(app, "?owner=acme")).total.turns).toMatchObject({ success: 2, error: 1 });
  const refused = await app.request("/statistics?owner=acme", { headers: { authorization: "bob" } });
  expect(refused.status).toBe(403);
});

test.each(["by=week", "since=yesterday", "since=2030-01-02&until=2030-01-01"])(
  "a query that cannot be meant is refused: %s",
  async (query) => {
    const app = await serve();
    const answer = await app.request(`/statistics?${query}`, { headers: { authorization: "ops" } });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toMatch(/by|since/);
  },
);
