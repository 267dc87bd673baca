import { setTimeout } from "node:timers/promises";
import { AgentError } from "../../../src/errors.ts";
import { movePostgresShards } from "../../../src/storage/postgres/inspect-shards.ts";
import type { ShardMove } from "../../../src/storage/postgres/shards/move-shards.ts";
import { SHARD_COUNT, shardOf } from "../../../src/storage/postgres/shards/parts.ts";
import type { Random } from "../../../src/testing/event-log/random.ts";
import { ask } from "../../storage/postgres/databases.ts";
import { startMover } from "./cluster/mover.ts";
import type { SceneCluster } from "./cluster/scene-cluster.ts";
import type { Scene } from "./scene.ts";

/** What happens to a log in two databases. At the end of each scene the shards are where they were. */
export const shards: readonly Scene[] = [
  {
    name: "shards move to another database and back",
    goalMs: 2_000,
    play: (cluster, random, turns) =>
      underLoad(cluster, random, turns, async ({ of1, of2 }) => {
        let count = 0;
        for (const move of [
          { to: 2, shards: of1 },
          { to: 1, shards: of2 },
          { to: 1, shards: of1 },
          { to: 2, shards: of2 },
        ])
          await movePostgresShards(cluster.connections, move, () => (count += 1));
        const expected = 2 * (of1.length + of2.length);
        return count === expected ? [] : [`${count} of ${expected} shards have moved`];
      }),
  },
  {
    name: "kill -9 of a node while shards move",
    goalMs: 5_000,
    play: (cluster, random, turns) =>
      underLoad(cluster, random, turns, async ({ of1 }) => {
        // Before the first one moves, or when some have.
        const fatal = random.below(of1.length);
        const reached = Promise.withResolvers<void>();
        let count = 0;
        const onMoved = (): void => {
          count += 1;
          if (count === fatal) reached.resolve();
        };
        const moved = moveSurely(cluster, { to: 2, shards: of1 }, onMoved);
        if (fatal === 0) await setTimeout(random.below(4_000));
        else await Promise.race([reached.promise, moved]);
        await cluster.anyNode.kill();
        await moved;
        await moveSurely(cluster, { to: 1, shards: of1 });
        return [];
      }),
  },
  {
    name: "kill -9 of the command that moves shards, then the same move or its reverse",
    goalMs: 6_000,
    play: (cluster, random, turns) =>
      underLoad(cluster, random, turns, async ({ of1, ended }) => {
        const mover = startMover(cluster.connections, { to: 2, shards: of1 });
        const fatal = random.below(of1.length);
        if (fatal === 0) await setTimeout(random.below(6_000));
        else await mover.moved(fatal);
        await setTimeout(random.below(20));
        const wrong = (await mover.kill()) ? [] : ["the command had ended before it was killed"];
        // All runs go on without a command that ends what the dead one has left.
        if (random.below(2) === 0) await ended;
        if (random.below(2) === 0) {
          await moveSurely(cluster, { to: 2, shards: of1 });
          wrong.push(...(await findMisplaced(cluster)));
        }
        await moveSurely(cluster, { to: 1, shards: of1 });
        return wrong;
      }),
  },
];

/** What a scene moves, while turns work that began before. */
interface Moving {
  /** Shards of the first database, and of the second one: those of runs that work, and some more. */
  readonly of1: readonly number[];
  readonly of2: readonly number[];
  /** Resolves when the turns have ended. */
  readonly ended: Promise<unknown>;
}

/** Moves shards while clients make requests; resolves when all turns have ended, with what is wrong. */
async function underLoad(
  cluster: SceneCluster,
  random: Random,
  turns: number,
  move: (moving: Moving) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const speaking = cluster.nodes.map((node) =>
    cluster.clients.turnsOn(node, "lecturer", 3, { cancels: false }),
  );
  const ended = Promise.all(speaking.map((turnsOfNode) => turnsOfNode.ended));
  const moves = async (): Promise<readonly string[]> => {
    await Promise.all(speaking.map(({ begun }) => begun));
    const { runs } = await cluster.log.list({ status: "running", limit: 100 });
    const chosen = new Set([
      ...runs.map(({ runId }) => shardOf(runId)),
      ...Array.from({ length: 20 }, () => random.below(SHARD_COUNT)),
    ]);
    const [of1, of2] = [true, false].map((isFirst) =>
      [...chosen].filter((shard) => shard < SHARD_COUNT / 2 === isFirst),
    ) as [number[], number[]];
    return move({ of1, of2, ended });
  };
  const moved = moves();
  const [wrong] = await Promise.all([moved, ended, cluster.clients.load({ turns, until: moved })]);
  return [...wrong, ...(await findMisplaced(cluster))];
}

/** Runs the command again as long as it is refused: runs that have waited for too long take a move back, and a node may be dying. */
async function moveSurely(cluster: SceneCluster, move: ShardMove, onMoved = (): void => {}): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await movePostgresShards(cluster.connections, move, onMoved);
    } catch (error) {
      if (tries === TRIES || !(error instanceof AgentError && error.code === "conflict")) throw error;
      await setTimeout(500);
    }
  }
}

const TRIES = 5;

/** What is not in the database that has its shard, and shards that have not settled. */
async function findMisplaced({ engine, connections }: SceneCluster): Promise<readonly string[]> {
  const schemas = connections.map(({ schema }) => schema ?? "");
  const rows = await ask(engine.url, `SELECT part, copy FROM ${schemas[0] ?? ""}.shard ORDER BY shard`);
  const wrong = rows.flatMap(({ copy }, shard) => (copy === null ? [] : [`shard ${shard} has a copy`]));
  for (const [at, schema] of schemas.entries())
    for (const table of OF_RUNS) {
      const key = table === "run" ? "id" : "run";
      for (const { id } of await ask(engine.url, `SELECT DISTINCT ${key} AS id FROM ${schema}.${table}`))
        if (rows[shardOf(String(id))]?.["part"] !== at + 1)
          wrong.push(`${table} of database ${at + 1} has run ${String(id)}, whose shard is elsewhere`);
    }
  return wrong;
}

/** The tables with rows of runs. */
const OF_RUNS: readonly string[] = [
  "run",
  "batch",
  "creation",
  "recent",
  "request",
  "alias",
  "wait",
  "outbox",
  "reference",
  "schedule",
];
