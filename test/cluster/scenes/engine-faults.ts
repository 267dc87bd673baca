import { setTimeout } from "node:timers/promises";
import type { Scene } from "./scene.ts";

/** What happens to the database under load. */
export const engineFaults: readonly Scene[] = [
  {
    name: "the engine is killed, 2 s down",
    goalMs: 8_000,
    async play(cluster, random, turns) {
      const fails = async (): Promise<void> => {
        await setTimeout(500 + random.below(500));
        await cluster.engine.kill();
        await setTimeout(2_000);
        await cluster.engine.restart();
      };
      const failed = fails();
      await Promise.all([
        failed,
        cluster.clients.turnsOn(cluster.anyNode, "ticker", 3),
        cluster.clients.load({ turns, until: failed }),
      ]);
      return [];
    },
  },
  {
    name: "a synchronous standby is promoted",
    goalMs: 4_000,
    async play(cluster, random, turns) {
      await cluster.engine.addStandby({ isSynchronous: true });
      const fails = async (): Promise<void> => {
        await setTimeout(500 + random.below(500));
        await cluster.engine.failOver();
      };
      const failed = fails();
      await Promise.all([
        failed,
        cluster.clients.turnsOn(cluster.anyNode, "ticker", 3),
        cluster.clients.load({ turns, until: failed }),
      ]);
      return [];
    },
  },
];
