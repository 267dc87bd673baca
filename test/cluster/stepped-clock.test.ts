import { expect, test } from "vitest";
import { ClusterHost } from "./cluster-host.ts";
import type { ClusterNode } from "./cluster-host.ts";
import { tick, ticker } from "./ticker.ts";

async function startTwo(host: ClusterHost): Promise<readonly [ClusterNode, ClusterNode]> {
  const a = await host.start([ticker]);
  await host.pass(290);
  const b = await host.start([ticker]);
  await host.pass(3_000);
  return [a, b];
}

test.for([1_300, 2_000, 10_000, 7_200_000])(
  "after a step of %i ms forward of the engine's clock a node judges no other node dead",
  async (stepMs) => {
    const host = new ClusterHost();
    const [a, b] = await startTwo(host);
    const runIds = [await host.ask(a, "ticker", tick), await host.ask(b, "ticker", tick)];
    const owners = await Promise.all(runIds.map(async (runId) => (await host.log.run(runId))?.node));
    for (let passedMs = 0; passedMs < 2_000; passedMs += 10) {
      if (passedMs === 1_000) host.steppedMs += stepMs;
      await host.pass(10);
      for (const { router } of [a, b])
        expect(router.members().map(({ isAlive }) => isAlive)).toEqual([true, true]);
    }
    await host.pass(12_000);

    for (const { router } of [a, b]) expect(router.figures?.().takenOver).toBe(0);
    for (const [at, runId] of runIds.entries())
      expect(await host.log.run(runId)).toMatchObject({ node: owners[at], status: "idle" });
    expect(host.faults).toEqual([]);
  },
);

test.for([2_000, 60_000])(
  "a step of %i ms back of the engine's clock does not delay the end of a node that has crashed",
  async (stepMs) => {
    const host = new ClusterHost();
    const [a, b] = await startTwo(host);
    const runId = await host.ask(a, "ticker", tick);
    await host.pass(1_000);
    a.kill();
    await host.pass(500);
    host.steppedMs -= stepMs;
    await host.pass(1_500);

    expect(b.router.members()).toMatchObject([{ node: b.id }, { node: a.id, isAlive: false }]);
    await host.pass(12_000);
    expect(await host.log.run(runId)).toMatchObject({ node: b.id, status: "idle" });
  },
);

test("a step back of the engine's clock does not revive a node that is dead", async () => {
  const host = new ClusterHost();
  const [a, b] = await startTwo(host);
  a.kill();
  await host.pass(5_000);
  host.steppedMs -= 10_000;
  for (let passedMs = 0; passedMs < 3_000; passedMs += 100) {
    await host.pass(100);
    expect(b.router.members()).toMatchObject([{ node: b.id }, { node: a.id, isAlive: false }]);
  }
});
