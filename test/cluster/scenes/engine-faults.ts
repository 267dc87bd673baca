import { setTimeout } from "node:timers/promises";
import type { Random } from "../../../src/testing/event-log/random.ts";
import type { SceneCluster } from "./cluster/scene-cluster.ts";
import type { Scene } from "./scene.ts";

/** What happens to the database under load. */
export const engineFaults: readonly Scene[] = [
  {
    name: "the engine is killed, 2 s down",
    goalMs: 8_000,
    play: (cluster, random, turns) =>
      underLoad(cluster, random, turns, async ({ engine }) => {
        await engine.kill();
        await setTimeout(2_000);
        await engine.restart();
      }),
  },
  {
    name: "a synchronous standby is promoted",
    goalMs: 4_000,
    async play(cluster, random, turns) {
      await cluster.engine.addStandby({ isSynchronous: true });
      return underLoad(cluster, random, turns, ({ engine }) => engine.failOver());
    },
  },
];

/** Lets the database fail while clients make requests; resolves when all turns have ended. */
async function underLoad(
  cluster: SceneCluster,
  random: Random,
  turns: number,
  fail: (cluster: SceneCluster) => Promise<void>,
): Promise<readonly string[]> {
  const ticking = cluster.clients.turnsOn(cluster.anyNode, "ticker", 3);
  const failed = ticking.begun.then(() => setTimeout(random.below(500))).then(() => fail(cluster));
  await Promise.all([failed, ticking.ended, cluster.clients.load({ turns, until: failed })]);
  return [];
}
