import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Agent } from "troupe";
import { createApp, createMetrics } from "troupe/http";
import { expect, test } from "vitest";
import { bodyOf, post } from "../server.ts";

function asker(version: string): Agent {
  return defineAgent({
    name: "asker",
    purpose: "Asks.",
    version,
    async chat(_input, turn) {
      const { name } = await turn.waitForInput({ name: "Your name?" });
      return `Hello ${JSON.stringify(name)}`;
    },
  });
}

const other = defineAgent({ name: "other", purpose: "Is served.", chat: () => "Hi." });

test("a held turn takes an answer at the path of its agent, is listed, counted and shown, and an operator ends it", async () => {
  const log = { ...memoryLog(), close: async () => {} };
  const first = createRuntime({ agents: [asker("1")], log });
  const asked = await bodyOf(
    await post(createApp(first), "/asker/process?wait=completed", { input: "", request_id: "asked" }),
  );
  await first.close();

  const metrics = createMetrics();
  const second = createRuntime({ agents: [other], log, telemetry: metrics });
  const app = createApp(second, { metrics });
  const answer = { type: "ResumeWithInput", request_id: "asked", request_keys: { name: "Ann" } };
  const resumed = await post(app, "/asker/process?wait=true", answer);
  expect(await bodyOf(resumed)).toMatchObject({ type: "ResumeWithInput", request_keys: { name: "Ann" } });
  expect((await post(app, "/asker/process", { input: "new" })).status).toBe(404);

  const status = await bodyOf(await app.request("/request/asked"));
  expect(status).toMatchObject({ status: "held", held: { code: "agent_missing" } });
  const listed = (await (await app.request("/runs?status=held")).json()) as readonly object[];
  expect(listed).toMatchObject([{ run_id: asked["run_id"], last_turn: { held: { code: "agent_missing" } } }]);
  expect(await (await app.request("/metrics")).text()).toContain(
    'troupe_turns_held{agent="asker",code="agent_missing"} 1',
  );
  await expect.poll(async () => bodyOf(await app.request("/readyz"))).toMatchObject({ status: "degraded" });
  expect((await app.request("/readyz")).status).toBe(200);

  const run = String(asked["run_id"]);
  expect(await bodyOf(await post(app, `/runs/${run}/retry`, {}))).toEqual({ tried: 1 });
  const ended = await bodyOf(await post(app, `/runs/${run}/end`, {}));
  expect(ended).toMatchObject({ type: "RequestCompleted", error: { code: "agent_missing" } });
  expect((await post(app, `/runs/${run}/end`, {})).status).toBe(409);
  expect((await post(app, `/runs/${run}/retry`, {})).status).toBe(409);
  await second.close();
});

test("a run is forked at a question of its open turn, which the fork asks anew", async () => {
  const log = { ...memoryLog(), close: async () => {} };
  const first = createRuntime({ agents: [asker("1")], log });
  const asked = await bodyOf(await post(createApp(first), "/asker/process?wait=completed", { input: "" }));
  await first.close();
  const second = createRuntime({ agents: [asker("2")], log });
  const app = createApp(second);
  const run = String(asked["run_id"]);
  const answer = { type: "ResumeWithInput", run_id: run, request_keys: { name: "Ann" } };
  await post(app, "/asker/process?wait=true", answer);

  const forked = await post(app, `/runs/${run}/fork`, { wait_id: asked["id"] });
  expect(forked.status).toBe(201);
  const { run_id: copy, forked_from: from } = await bodyOf(forked);
  expect(from).toEqual({ run_id: run, id: Number(asked["id"]) - 1 });
  const row = async (): Promise<unknown> => bodyOf(await app.request(`/runs/${String(copy)}`));
  await expect
    .poll(row)
    .toMatchObject({ status: "waiting", open_waits: 1, last_turn: { agent_version: "2" } });
  const end = await post(app, "/asker/process?wait=completed", { ...answer, run_id: copy });
  expect(await bodyOf(end)).toMatchObject({ result: 'Hello "Ann"', run_id: copy });
  expect(await bodyOf(await app.request(`/runs/${run}`))).toMatchObject({ status: "held" });
  await second.close();
});
