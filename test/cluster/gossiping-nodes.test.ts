// What nodes promise of runs, while pings tell which of them live.
import { expect, test } from "vitest";
import { ClusterHost } from "./cluster-host.ts";
import type { ClusterNode } from "./cluster-host.ts";
import { tick, ticker } from "./ticker.ts";

async function startThree(seed = 0): Promise<readonly [ClusterHost, ClusterNode, ClusterNode, ClusterNode]> {
  const host = new ClusterHost(seed, { gossipAbove: 1 });
  const a = await host.start([ticker]);
  const [b, c] = [await host.start([ticker]), await host.start([ticker])];
  await host.pass(7_000);
  return [host, a, b, c];
}

/** Whether a message is one that tells who lives. */
function isGossip(message: object): boolean {
  return "gossip" in message;
}

test("the turns of a node that dies go on elsewhere within 2.5 s", async () => {
  const [host, a] = await startThree();
  const runIds = [await host.ask(a, "ticker", tick), await host.ask(a, "ticker", tick)];
  await host.pass(1_000);
  a.kill();
  await host.pass(2_500);
  for (const runId of runIds) {
    expect(await host.log.run(runId)).toMatchObject({ status: "running" });
    expect((await host.log.run(runId))?.node).not.toBe(a.id);
  }
  await host.pass(12_000);
  for (const runId of runIds) {
    const events = await host.events(runId);
    expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });
    const texts = events.map((event) => (event.type === "TextOutput" ? event.content : ""));
    expect(texts.join("")).toBe(Array.from({ length: 100 }, (_, at) => `${at + 1}\n`).join(""));
  }
  expect(host.faults).toEqual([]);
});

test("a node whose connection to the log is cut loses its runs, and does not go on with them", async () => {
  const [host, a, b, c] = await startThree();
  const runId = await host.ask(a, "ticker", tick);
  await host.pass(500);
  const mend = a.cut();
  await host.pass(10_000);
  const { node } = (await host.log.run(runId)) ?? {};
  expect([b.id, c.id]).toContain(node);
  mend();
  await host.pass(12_000);
  expect(await host.log.run(runId)).toMatchObject({ status: "idle", node });
  const ends = (await host.events(runId)).filter(({ type }) => type === "RequestCompleted");
  expect(ends).toMatchObject([{ finish_reason: "success" }]);
});

test("while no ping arrives, no node loses a run", async () => {
  const [host, ...nodes] = await startThree();
  const runIds = await Promise.all(nodes.map((node) => host.ask(node, "ticker", tick)));
  host.lose.message = (message) => typeof message === "object" && message !== null && isGossip(message);
  await host.pass(12_000);
  for (const runId of runIds) expect(await host.log.run(runId)).toMatchObject({ status: "idle" });
  for (const { router } of nodes) {
    expect(router.figures?.().takenOver).toBe(0);
    expect(router.health()).toEqual({ ready: true });
    expect(router.members().map(({ isAlive }) => isAlive)).toEqual([true, true, true]);
  }
  expect(host.faults).toEqual([]);
});
