import { createRuntime, defineAgent, ended, memoryLog } from "troupe";
import { createApp } from "troupe/http";
import { expect, test } from "vitest";
import { z } from "zod";
import { bodyOf, post } from "../server.ts";

let isBroken = true;

const worker = defineAgent({
  name: "worker",
  purpose: "Works, or fails.",
  operations: (own) => ({
    work: own({
      input: z.object({}),
      run(): string {
        if (isBroken) throw new Error("the tool broke");
        return "done";
      },
    }),
  }),
});

const boss = defineAgent({
  name: "boss",
  purpose: "Watches a worker.",
  supervise: { on: "error", then: "stop" },
  operations: (own) => ({
    watch: own({
      input: z.object({}),
      run: (_input, turn) => turn.watch(turn.actor(worker, "w")),
    }),
    ended: own({ input: ended, run: () => null }),
  }),
});

test("a stopped actor is listed as such, refuses requests with a hint, and is resumed by a POST", async () => {
  const runtime = createRuntime({ agents: [worker, boss], log: memoryLog() });
  const app = createApp(runtime, {
    authenticate: () => ({ id: "ops", owner: "default", roles: ["operator"] }),
  });
  const ask = (agent: string, operation: string): Promise<Response> =>
    post(app, `/${agent}/process?wait=completed`, {
      type: "OperationRequest",
      operation,
      input: {},
      key: agent === "worker" ? "w" : "b",
    });
  await ask("boss", "watch");
  const failed = await bodyOf(await ask("worker", "work"));
  expect(failed).toMatchObject({ error: { message: "the tool broke" } });
  const run = String(failed["run_id"]);
  const summary = await bodyOf(await app.request(`/runs/${run}`));
  const { last_turn: last } = summary as { readonly last_turn: { readonly stopped?: object } };
  expect(last.stopped).toEqual({ since: expect.any(String) as string });

  const refused = await ask("worker", "work");
  expect(refused.status).toBe(409);
  expect(await bodyOf(refused)).toMatchObject({
    code: "stopped",
    hint: `resume it with POST /runs/${run}/resume, or troupe runs resume ${run}`,
    stopped: { error: { code: "agent_error" } },
  });
  expect((await post(app, `/runs/${run}/resume`, {})).status).toBe(204);
  expect((await post(app, `/runs/${run}/resume`, {})).status).toBe(409);
  const trail = (await (await app.request("/audit?action=resume")).json()) as unknown[];
  expect(trail).toEqual([expect.objectContaining({ by: { id: "ops" }, run_id: run })]);
  isBroken = false;
  expect(await bodyOf(await ask("worker", "work"))).toMatchObject({ output: "done" });
  await runtime.close();
});
