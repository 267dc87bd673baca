import { SHARD_COUNT, shardOf } from "../../../src/storage/postgres/shards/parts.ts";
import { movePostgresShards } from "../../../src/storage/postgres/inspect-shards.ts";
import type { Scene } from "./scene.ts";

/** What happens to a log in several databases. */
export const shards: readonly Scene[] = [
  {
    name: "shards move to another database and back",
    goalMs: 2_000,
    async play(cluster, random, turns) {
      const ticking = cluster.nodes.map((node) =>
        cluster.clients.turnsOn(node, "ticker", 2, { cancels: false }),
      );
      const wrong: string[] = [];
      const moves = async (): Promise<void> => {
        await Promise.all(ticking.map(({ begun }) => begun));
        // The shards of the runs that work at this moment, and some more.
        const { runs } = await cluster.log.list({ status: "running", limit: 100 });
        const chosen = new Set([
          ...runs.map(({ runId }) => shardOf(runId)),
          ...Array.from({ length: 20 }, () => random.below(SHARD_COUNT)),
        ]);
        const [of1, of2] = [
          [...chosen].filter((shard) => shard < SHARD_COUNT / 2),
          [...chosen].filter((shard) => shard >= SHARD_COUNT / 2),
        ];
        let count = 0;
        for (const move of [
          { to: 2, shards: of1 },
          { to: 1, shards: of2 },
          { to: 1, shards: of1 },
          { to: 2, shards: of2 },
        ])
          await movePostgresShards(cluster.connections, move, () => (count += 1));
        if (count !== 2 * chosen.size) wrong.push(`${count} shards have moved`);
      };
      const moved = moves();
      await Promise.all([
        moved,
        ...ticking.map(({ ended }) => ended),
        cluster.clients.load({ turns, until: moved }),
      ]);
      return wrong;
    },
  },
];
