import { AgentError } from "../../../errors.ts";
import { Unavailable } from "../../../ports/event-log.ts";
import { forEachConcurrent } from "../../../shared/map-concurrent.ts";
import { delay } from "../connection/database.ts";
import type { Database } from "../connection/database.ts";
import { SHARD_INDEX } from "../schema/shard-moves.ts";
import { closeShard, deleteCopy, Overtaken, runsOf, ShardCopy } from "./shard-copy.ts";
import { changeShards, KNOWN_MS, openShard, switchShard, takeBack } from "./shard-table.ts";
import type { ShardRow } from "./shard-table.ts";
import { endTakings, takeRest } from "./take-rest.ts";

/** A database of a log, with its number. */
export interface NumberedDatabase {
  readonly number: number;
  readonly database: Database;
}

/** Which shards move. */
export interface ShardMove {
  /** The number of the database that gets them. */
  readonly to: number;
  /** The number of the one that gives them. Default: those that have the most. */
  readonly from?: number;
  /** Default: all of `from`; without it, as many as make the shares equal. */
  readonly count?: number;
  /** Only these shards, as far as they are elsewhere. */
  readonly shards?: readonly number[];
}

/** A shard that has moved. */
export interface MovedShard {
  readonly shard: number;
  readonly from: number;
  readonly to: number;
  /** The number of its runs. */
  readonly runs: number;
  /** How long they could not be changed. */
  readonly pauseMs: number;
  /** How many shards move altogether. */
  readonly total: number;
}

/**
 * Moves shards while their runs work. Each one is copied while it is open, closed for a moment in which the rest is copied, and switched
 * by one change of its row; its rows in the former database are deleted when no node looks for them there any more. What an earlier move
 * has left, because it was interrupted, is taken back or ended first. A database that has no shards any more gives everything else too.
 */
export async function* moveShards(
  databases: readonly NumberedDatabase[],
  move: ShardMove,
): AsyncGenerator<MovedShard, void> {
  const [first] = databases;
  if (first === undefined) throw new TypeError("a log needs a database");
  const target = findDatabase(databases, move.to);
  if (move.from !== undefined) findDatabase(databases, move.from);
  await checkKnown(first.database, target);
  for (const { database } of databases) await prepareIndex(database);
  await settle(databases);
  await endTakings(databases);
  await first.database.ask("DELETE FROM troupe.emptied WHERE number = $1", [move.to]);
  const rows = await first.database.ask<ShardRow>(
    "SELECT shard, part, copy, move FROM troupe.shard ORDER BY shard",
  );
  const shards = chooseShards(
    rows,
    databases.map(({ number }) => number),
    move,
  );
  for (let at = 0; at < shards.length; at += AT_ONCE) {
    let left = shards.slice(at, at + AT_ONCE);
    for (let tries = 1; left.length > 0; tries += 1) {
      const announced = await changeShards(first.database, ANNOUNCE, [left.map(String), move.to]);
      // From then on every node knows of it.
      await delay(KNOWN_MS + MARGIN_MS);
      const takenBack: Overtaken[] = [];
      const moveOne = async (row: ShardRow): Promise<readonly MovedShard[]> => {
        try {
          const source = findDatabase(databases, row.part).database;
          const moved = await moveShard(first.database, source, target.database, row);
          return [{ shard: row.shard, from: row.part, to: move.to, total: shards.length, ...moved }];
        } catch (error) {
          if (!(error instanceof Overtaken)) throw error;
          takenBack.push(error);
          return [];
        }
      };
      try {
        // One after the other: several at the same time would each take longer, and so would the pauses of their runs.
        for (const row of announced) yield* await moveOne(row);
      } finally {
        await settle(
          databases,
          announced.map(({ shard }) => shard),
        );
      }
      if (tries === TRIES && takenBack[0] !== undefined) throw takenBack[0];
      left = takenBack.map(({ shard }) => shard);
    }
  }
  for (const { number, database } of databases) {
    // The first one has what belongs to the whole log.
    if (number === 1 || number === move.to) continue;
    const [emptied] = await first.database.ask(FIND_EMPTY, [number]);
    if (emptied === undefined) continue;
    await takeRest({ number, database }, target.database);
    await first.database.ask("INSERT INTO troupe.emptied VALUES ($1) ON CONFLICT DO NOTHING", [number]);
  }
}

/** The shards that a move is about. */
function chooseShards(
  rows: readonly ShardRow[],
  numbers: readonly number[],
  { to, from, count, shards: chosen }: ShardMove,
): readonly number[] {
  if (chosen !== undefined) return chosen;
  const owned = new Map(numbers.map((number): [number, number[]] => [number, []]));
  for (const { shard, part } of rows) owned.get(part)?.push(shard);
  const countOf = (number: number): number => owned.get(number)?.length ?? 0;
  const share = Math.floor(rows.length / numbers.length) - countOf(to);
  const wanted = count ?? (from === undefined ? share : countOf(from));
  const givers = numbers.filter((number) => number !== to && (from === undefined || number === from));
  const shards: number[] = [];
  while (shards.length < wanted) {
    const [most] = givers.toSorted((a, b) => countOf(b) - countOf(a));
    const shard = most === undefined ? undefined : owned.get(most)?.pop();
    if (shard === undefined) break;
    shards.push(shard);
  }
  return shards;
}

async function moveShard(
  first: Database,
  source: Database,
  target: Database,
  row: ShardRow,
): Promise<Pick<MovedShard, "pauseMs" | "runs">> {
  await closeShard(target, row);
  const copy = new ShardCopy(source, target, row);
  await copy.copyBatches();
  const startMs = performance.now();
  const check = (): void => {
    if (performance.now() - startMs > PAUSE_MS) throw new Overtaken(row.shard);
  };
  try {
    await closeShard(source, row);
    check();
    const runs = await copy.finish(check);
    const switched = await switchShard(first, row);
    if (switched === undefined) throw new Overtaken(row.shard);
    await openShard(target, switched);
    return { runs, pauseMs: performance.now() - startMs };
  } catch (error) {
    // Otherwise its runs would wait for a while before they do this.
    const back = await takeBack(first, row).catch(() => undefined);
    if (back !== undefined) await openShard(source, back).catch(() => {});
    throw error instanceof Unavailable ? new Overtaken(row.shard, error) : error;
  }
}

/** Ends what moves have left: opens each shard where it is, and deletes the copy that does not count. */
async function settle(databases: readonly NumberedDatabase[], shards?: readonly number[]): Promise<void> {
  const first = findDatabase(databases, 1).database;
  // With a new number no earlier move can go on.
  const left =
    shards === undefined
      ? await changeShards(first, TAKE_OVER, [])
      : await changeShards(first, `${TAKE_OVER} AND shard = ANY ($1::smallint[])`, [shards.map(String)]);
  if (left.length === 0) return;
  await forEachConcurrent(left, BESIDE, async (row) => {
    await openShard(findDatabase(databases, row.part).database, row);
  });
  // Nodes may still read there.
  await delay(KNOWN_MS + MARGIN_MS);
  await forEachConcurrent(left, BESIDE, async (row) => {
    if (row.copy === null) return;
    const ids = await runsOf(findDatabase(databases, row.part).database, row.shard);
    await deleteCopy(findDatabase(databases, row.copy).database, row, ids);
  });
  await changeShards(first, SETTLED, [
    left.map(({ shard }) => String(shard)),
    left.map(({ move }) => String(move)),
  ]);
}

function findDatabase(databases: readonly NumberedDatabase[], number: number): NumberedDatabase {
  const found = databases.find((one) => one.number === number);
  if (found !== undefined) return found;
  throw new AgentError("invalid_request", `the log has no database ${number} among those that are given`, {
    hint: `their numbers are ${databases.map((one) => one.number).join(", ")}`,
  });
}

/** Refuses to move shards to a database that a node does not know: it would not find their runs. */
async function checkKnown(first: Database, { number, database }: NumberedDatabase): Promise<void> {
  const [all, known] = await Promise.all([first, database].map(countNodes));
  if (all === undefined || known === undefined || known >= all) return;
  throw new AgentError("conflict", `${all - known} of ${all} nodes have not opened database ${number}`, {
    hint: "restart each node with all databases of the log, then move shards",
  });
}

async function countNodes(database: Database): Promise<number> {
  const [row] = await database.ask<{ count: number }>(COUNT_NODES, [`troupe serves ${database.schema}`]);
  return row?.count ?? 0;
}

/** Makes the index that finds the runs of a shard, unless it was made with the database. */
async function prepareIndex(database: Database): Promise<void> {
  const [row] = await database.ask<{ known: boolean }>("SELECT to_regclass($1) IS NOT NULL AS known", [
    `${database.schema}.run_shard`,
  ]);
  if (row?.known !== true) await database.once(SHARD_INDEX);
}

const ANNOUNCE = `UPDATE troupe.shard SET copy = $2, move = nextval('troupe.epoch')
  WHERE shard = ANY ($1::smallint[]) AND part <> $2 AND copy IS NULL`;

const TAKE_OVER = "UPDATE troupe.shard SET move = nextval('troupe.epoch') WHERE copy IS NOT NULL";

const SETTLED = `UPDATE troupe.shard SET copy = NULL, move = nextval('troupe.epoch')
  FROM unnest($1::smallint[], $2::bigint[]) AS given (settled, at_move) WHERE shard = settled AND move = at_move`;

/** A row if a database has no shard, and not nothing yet. */
const FIND_EMPTY = `SELECT WHERE NOT EXISTS (SELECT FROM troupe.shard WHERE $1::smallint IN (part, copy))
  AND NOT EXISTS (SELECT FROM troupe.emptied WHERE number = $1::smallint)`;

/** The nodes that have a database open hold a lock there. */
const COUNT_NODES = `
  SELECT count(*)::int AS count FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND objsubid = 1
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (classid::bigint << 32 | objid::bigint) = hashtextextended($1, 0)`;

/** The shards that are announced together, because each announcement waits. */
const AT_ONCE = 256;

/** Those that are settled at the same time, when no run waits. */
const BESIDE = 4;

/** How often a shard is tried: on a busy machine its runs may wait for too long, and the move is taken back. */
const TRIES = 10;

/** How long the runs of a shard wait, until its move is taken back and tried again later. */
const PAUSE_MS = 1_500;

/** Clocks of two machines do not run equally fast. */
const MARGIN_MS = 500;
