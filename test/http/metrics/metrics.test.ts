import { createRuntime, defineAgent, defineTool, ModelError } from "troupe";
import type { Model, Turn } from "troupe";
import { createApp, createMetrics } from "troupe/http";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { bodyOf } from "../server.ts";
import type { App } from "../server.ts";

const usage = { input_tokens: 10, output_tokens: 2, cost: 1 };

let hangs = (): void => {};

async function postJson(app: App, path: string, body: object): Promise<Record<string, unknown>> {
  const headers = { "content-type": "application/json" };
  return bodyOf(await app.request(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

/** Answers "fail", "hang" and everything else as it is told. */
const model: Model = {
  name: "told",
  async *generate(input, { signal }) {
    if (input === "fail") throw new ModelError("no key", { code: "model_denied" });
    yield { type: "text", text: "Four." };
    if (input === "hang") {
      hangs();
      await new Promise((_resolve, reject) => {
        signal.addEventListener("abort", reject);
      });
    }
    yield { type: "result", result: null, usage };
  },
};

const search = defineTool({
  name: "search",
  description: "Finds a page.",
  input: z.object({ page: z.string() }),
  run: ({ page }) => {
    if (page === "none") throw new Error("there is no such page");
    return page;
  },
});

async function chat(input: string, turn: Turn): Promise<void> {
  if (input === "ask") await turn.waitForInput(z.object({ ok: z.boolean() }));
  else if (input.startsWith("search")) await turn.tool(search, { page: input.slice(7) }).catch(() => {});
  else await turn.complete({ model, input }).catch(() => {});
}

const clerk = defineAgent({ name: "clerk", purpose: "Answers.", chat });

test("the metrics have tokens, cost, times and outcomes of models and tools, and what is open", async () => {
  const metrics = createMetrics();
  const runtime = createRuntime({ agents: [clerk], telemetry: metrics });
  onTestFinished(() => runtime.close());
  const app = createApp(runtime, { metrics });
  const say = async (input: string): Promise<void> => {
    await postJson(app, "/clerk/process?wait=completed", { type: "ChatRequest", input });
  };
  const read = async (): Promise<readonly string[]> =>
    (await (await app.request("/metrics")).text()).split("\n");
  await say("2 + 2?");
  await say("3 + 1?");
  await say("fail");
  await say("search home");
  await say("search none");
  await say("ask");

  const of = {
    ok: 'agent="clerk",model="told",outcome="ok"',
    denied: 'agent="clerk",model="told",outcome="model_denied"',
  };
  const found = (page: string): string => `agent="clerk",tool="search",outcome="${page}"`;
  expect(await read()).toEqual(
    expect.arrayContaining([
      'troupe_model_tokens_total{agent="clerk",model="told",kind="input"} 20',
      'troupe_model_tokens_total{agent="clerk",model="told",kind="output"} 4',
      'troupe_model_cost_total{agent="clerk",model="told"} 2',
      'troupe_owner_cost_total{owner="default"} 2',
      `troupe_model_completion_seconds_count{${of.ok}} 2`,
      `troupe_model_completion_seconds_count{${of.denied}} 1`,
      'troupe_model_first_token_seconds_count{model="told"} 2',
      `troupe_tool_call_seconds_count{${found("ok")}} 1`,
      `troupe_tool_call_seconds_count{${found("tool_error")}} 1`,
      "troupe_waits_open 1",
      "troupe_requests_queued 0",
      "troupe_slots_taken 0",
    ]),
  );
  const oldest = (await read()).find((line) => line.startsWith("troupe_wait_oldest_seconds "));
  expect(Number(oldest?.split(" ")[1])).toBeLessThan(600);
  const commits = (await read()).find((line) => line.startsWith("troupe_commit_seconds_count "));
  expect(await read()).toContain(commits?.replace("troupe_commit_seconds_count", "troupe_commits_total"));
  expect(await read()).toContain(commits?.replace("_count", '_bucket{le="+Inf"}'));
});

test("a completion that is canceled counts with what it has used; one that goes on after a restart does not yet", async () => {
  const metrics = createMetrics();
  const runtime = createRuntime({ agents: [clerk], telemetry: metrics });
  const app = createApp(runtime, { metrics });
  const hang = async (): Promise<string> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    hangs = resolve;
    const body = { type: "ChatRequest", input: "hang" };
    const answer = await postJson(app, "/clerk/process?wait=acknowledged", body);
    await promise;
    return answer["request_id"] as string;
  };
  await postJson(app, "/process?wait=completed", { type: "CancelRequest", request_id: await hang() });
  expect(await metrics.text()).toMatch(
    /_completion_seconds_count\{agent="clerk",model="told",outcome="canceled"\} 1\n/,
  );
  expect(await metrics.text()).toMatch(/_interrupted_attempts_total\{model="told"\} 1\n/);

  await hang();
  await runtime.close();
  expect(await metrics.text()).toMatch(/_interrupted_attempts_total\{model="told"\} 1\n/);
});

test("values of labels that come from users are limited: of 1,500 owners and tools a thousand have their own", async () => {
  const metrics = createMetrics();
  for (let n = 0; n < 1_500; n += 1) {
    metrics.asked?.({ agent: "clerk", owner: `o${n}`, model: `m${n}`, outcome: "ok", ms: 1, usage });
    metrics.called?.({ agent: "clerk", name: `t${n}`, outcome: "ok", ms: 1 });
  }
  const lines = (await metrics.text()).split("\n");
  const of = (name: string): readonly string[] => lines.filter((line) => line.startsWith(`${name}{`));
  expect(of("troupe_owner_cost_total")).toHaveLength(1_001);
  expect(of("troupe_owner_cost_total")).toContain('troupe_owner_cost_total{owner="other"} 500');
  expect(of("troupe_model_cost_total")).toHaveLength(1_001);
  expect(of("troupe_tool_call_seconds_count")).toHaveLength(1_001);
});
