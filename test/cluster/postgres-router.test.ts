/** @module-tag long */
import { clusterRouter, createRuntime, defineAgent } from "troupe";
import type { Runtime } from "troupe";
import { httpTransport, nodeEnvironment } from "troupe/node";
import type { EventLog } from "../../src/ports/event-log.ts";
import type { RouterNode } from "../../src/testing/router/subject.ts";
import { testRouter } from "../../src/testing/router/test-router.ts";
import { expect, onTestFinished, test } from "vitest";
import { findFreeUrl } from "../machine/free-port.ts";
import { needsPostgres } from "../machine/postgres.ts";
import { newSchema, openSchema, query, schemaOf } from "../storage/postgres/logs.ts";

needsPostgres();

testRouter({
  name: "cluster router on PostgreSQL and HTTP, whose",
  open: async () => openNode(await openSchema(newSchema())),
  join: async ({ log }) => openNode(await openSchema(schemaOf(log as EventLog))),
});

test("a step forward of the server's clock makes no node take over the turns of another one", async () => {
  const schema = newSchema();
  let calls = 0;
  const { promise: work, resolve: end } = Promise.withResolvers<void>();
  const payments = defineAgent({
    name: "payments",
    purpose: "Pays once.",
    chat: (_input, turn) =>
      turn.effect("pay", async () => {
        calls += 1;
        await work;
        return "paid";
      }),
  });
  const startRuntime = async (): Promise<Runtime> => {
    const runtime = createRuntime({
      agents: [payments],
      ...(await openNode(await openSchema(schema))),
      environment: nodeEnvironment(),
    });
    onTestFinished(() => runtime.close());
    await runtime.ready();
    return runtime;
  };
  const [a, b] = [await startRuntime(), await startRuntime()];
  const receipt = await a.process("payments", { type: "ChatRequest", input: "bob" });
  await expect.poll(() => calls).toBe(1);
  const ages = `SELECT max(extract(epoch FROM clock_timestamp() - beat))::float8 AS age FROM ${schema}.node`;
  const age = async (): Promise<unknown> => (await query(ages))[0]?.["age"];
  // The first ones come before a node that has just joined judges others.
  for (let step = 0; step < 10; step += 1) {
    await query(`UPDATE ${schema}.node SET beat = beat - interval '5 s'`);
    await expect.poll(age, { interval: 100 }).toBeLessThan(1);
  }
  for (const { health } of [a, b]) expect(health().figures).toMatchObject({ takenOver: 0 });
  end();
  await expect(a.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 })).resolves.toContain(
    "RequestCompleted",
  );
  expect(calls).toBe(1);
});

test("a node whose newest beat is in the future of the server's clock is dead as soon as any other", async () => {
  const { router, log } = await openNode(await openSchema(newSchema()));
  const dead = await openSchema(schemaOf(log as EventLog));
  onTestFinished(() => dead.close());
  const node = dead.node ?? "";
  await dead.nodes?.().heartbeat({ node, url: "http://127.0.0.1:9", state: "active", agents: {} });
  await query(`UPDATE ${schemaOf(dead)}.node SET beat = beat + interval '1 minute'`);
  const stop = await router.serve({
    agents: {},
    deliver: async () => null,
    holds: () => false,
    takeOver: async () => 0,
  });
  onTestFinished(stop);
  const isAlive = (): unknown => router.members().find((member) => member.node === node)?.isAlive;
  expect(isAlive()).toBe(true);
  await expect.poll(isAlive).toBe(false);
});

async function openNode(log: EventLog): Promise<RouterNode> {
  const transport = httpTransport({ url: await findFreeUrl(), secret: "shared by all nodes" });
  onTestFinished(() => log.close());
  return { router: clusterRouter({ log, transport, environment: nodeEnvironment() }), log };
}
