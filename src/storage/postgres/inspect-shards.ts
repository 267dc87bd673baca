import { Database } from "./connection/database.ts";
import { toOpenError } from "./connection/open-error.ts";
import { readServerDurability } from "./connection/server.ts";
import type { PostgresConnection } from "./options.ts";
import { checkVersion } from "./schema/migrate.ts";
import { moveShards } from "./shards/move-shards.ts";
import type { MovedShard, NumberedDatabase, ShardMove } from "./shards/move-shards.ts";
import { joinParts } from "./shards/parts.ts";

/** One of the databases of a log. */
export interface ListedDatabase {
  readonly number: number;
  /** Where it is, without the password. */
  readonly address: string;
  /** The number of its shards. */
  readonly shards: number;
  /** The number of shards that are being moved from or to it. */
  readonly moving: number;
  /** The number of its runs, without those that were removed, and the bytes of their events. */
  readonly runs: number;
  readonly bytes: number;
}

/** Lists the databases of a log, with their shards. */
export function listPostgresShards(
  databases: readonly PostgresConnection[],
): Promise<readonly ListedDatabase[]> {
  return usingAll(databases, async (parts) => {
    const [first] = parts;
    const rows = await first.database.ask<{ part: number; shards: number; moving: number }>(COUNT_SHARDS);
    return Promise.all(
      parts.map(async ({ number, database }) => {
        const { shards = 0, moving = 0 } = rows.find(({ part }) => part === number) ?? {};
        const [{ runs, bytes } = { runs: 0, bytes: 0 }] = await database.ask<{ runs: number; bytes: number }>(
          COUNT_RUNS,
        );
        return { number, address: database.address, shards, moving, runs, bytes };
      }),
    );
  });
}

const COUNT_SHARDS = `
  SELECT part, count(*) FILTER (WHERE is_own)::int AS shards, count(*) FILTER (WHERE is_moving)::int AS moving
    FROM (
      SELECT part, true AS is_own, copy IS NOT NULL AS is_moving FROM troupe.shard
      UNION ALL SELECT copy, false, true FROM troupe.shard WHERE copy IS NOT NULL
    ) AS known GROUP BY part`;

const COUNT_RUNS = `
  SELECT count(*)::int AS runs, coalesce(sum(bytes), 0)::bigint AS bytes FROM troupe.run WHERE stored AND NOT removed`;

/** Moves shards between the databases of a log while its nodes work; tells each shard that has moved. */
export function movePostgresShards(
  databases: readonly PostgresConnection[],
  move: ShardMove,
  onMoved: (moved: MovedShard) => void,
): Promise<void> {
  return usingAll(databases, async (parts) => {
    for await (const moved of moveShards(parts, move)) onMoved(moved);
  });
}

/** Opens the databases of one log, which have the current schema. */
async function usingAll<Result>(
  connections: readonly PostgresConnection[],
  work: (databases: readonly [NumberedDatabase, ...NumberedDatabase[]]) => Promise<Result>,
): Promise<Result> {
  const databases = await Promise.all(connections.map((connection) => Database.connect(connection)));
  try {
    await Promise.all(
      databases.map(async (database) => {
        try {
          await readServerDurability(database);
          await checkVersion(database);
        } catch (error) {
          throw toOpenError(error, database.address);
        }
      }),
    );
    const numbers = await joinParts(databases, { mayChange: false });
    const parts = databases.map((database, index) => ({ database, number: numbers[index] ?? 0 }));
    return await work(parts as [NumberedDatabase, ...NumberedDatabase[]]);
  } finally {
    await Promise.all(databases.map((database) => database.close()));
  }
}
