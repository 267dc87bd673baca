import { AgentError } from "../../../errors.ts";
import type { Database, Transaction } from "../connection/database.ts";
import { APPENDS, APPENDS_BACK } from "./appends.ts";
import { AUDIT } from "./audit.ts";
import { BASES } from "./bases.ts";
import { FUNCTIONS } from "./functions.ts";
import { GROUP_APPEND } from "./group-append.ts";
import { LIST_INDEXES, LIST_INDEXES_BACK, LIST_INDEXES_VERSION, makeEarlyIndexes } from "./list-indexes.ts";
import { OWNERS } from "./owners.ts";
import { RECENT } from "./recent.ts";
import { SCHEDULES } from "./schedules.ts";
import { SPENDERS } from "./spenders.ts";
import { SPENT } from "./spent.ts";
import { SUMS_OF_HOURS, SUMS_OF_HOURS_BACK } from "./statistic-sums.ts";
import { STATISTICS, STATISTICS_BACK } from "./statistics.ts";
import { SHARD_MOVES, SHARD_MOVES_BACK, SHARD_MOVES_VERSION } from "./shard-moves.ts";
import { KEPT_VERSIONS, QUEUED, SHARDS, SHARDS_BACK, TABLES } from "./tables.ts";
import { TEXTS, TEXTS_BACK } from "./texts.ts";
import { WAITS_OF_AGENTS, WAITS_OF_AGENTS_BACK } from "./waits-of-agents.ts";

/** The changes of the schema, by their number from 1. A change that is released never changes again. */
export const MIGRATIONS: readonly string[] = [
  TABLES + FUNCTIONS,
  GROUP_APPEND,
  KEPT_VERSIONS,
  QUEUED,
  OWNERS,
  AUDIT,
  BASES,
  SPENT,
  SCHEDULES,
  SPENDERS,
  RECENT,
  STATISTICS,
  TEXTS,
  SUMS_OF_HOURS,
  SHARDS,
  SHARD_MOVES,
  WAITS_OF_AGENTS,
  LIST_INDEXES,
  APPENDS,
];

/** The number of the schema that this version needs. */
export const SCHEMA_VERSION: number = MIGRATIONS.length;

/**
 * The oldest schema whose nodes may write to a database of the current one. A change first only adds to what they use; what they use is
 * taken away a version later at the earliest, and that raises this number.
 */
const OLDEST_SCHEMA = 13;

/** The schema of a database. */
interface SchemaNumbers {
  /** The number of its newest change; 0 if it has none. */
  readonly version: number;
  /** The oldest schema whose nodes may write to it. */
  readonly oldest: number;
}

/** How a change is taken back. */
interface StepBack {
  readonly version: number;
  readonly back: string;
  /** Asks for the count of what would be lost, and what that is. */
  readonly loss?: { readonly count: string; readonly what: string };
}

/** The ways back, the newest change first. Each new change has one, or ends them. */
const WAY_BACK: readonly StepBack[] = [
  { version: 19, back: APPENDS_BACK },
  { version: LIST_INDEXES_VERSION, back: LIST_INDEXES_BACK },
  { version: 17, back: WAITS_OF_AGENTS_BACK },
  {
    version: SHARD_MOVES_VERSION,
    back: SHARD_MOVES_BACK,
    loss: {
      count: `SELECT (SELECT count(*) FROM troupe.shard WHERE copy IS NOT NULL)::int
        + (SELECT count(*) FROM troupe.emptied)::int AS count`,
      what: "shards that are being moved, or databases without shards",
    },
  },
  {
    version: 15,
    back: SHARDS_BACK,
    loss: { count: "SELECT count(*)::int AS count FROM troupe.part", what: "place among several databases" },
  },
  { version: 14, back: SUMS_OF_HOURS_BACK },
  { version: 13, back: TEXTS_BACK },
  {
    version: 12,
    back: STATISTICS_BACK,
    loss: { count: "SELECT count(*)::int AS count FROM troupe.statistic", what: "rows of statistics" },
  },
];

/** The schema before and after a migration. */
export interface Migrated {
  readonly from: number;
  readonly to: number;
}

/**
 * Brings the tables to the current version, in one transaction, before which it makes large indexes; other nodes that start wait for
 * it. A newer schema that lets nodes of this version write stays as it is.
 */
export async function migrate(database: Database): Promise<Migrated> {
  const { version } = await readSchema(database, { query: (text, values) => database.ask(text, values) });
  // A new database, and one whose nodes must be stopped first, gets them with the change.
  if (version >= OLDEST_SCHEMA && version < LIST_INDEXES_VERSION) await makeEarlyIndexes(database);
  return database.change(async (transaction) => {
    await lock(database, transaction);
    const { version: from } = await readSchema(database, transaction);
    if (from === 0) {
      const [known] = await transaction.query("SELECT FROM pg_namespace WHERE nspname = $1", [
        database.schema,
      ]);
      // A role without the right to create schemas can use one that an operator has created for it.
      if (known === undefined) await transaction.query(`CREATE SCHEMA ${database.schema}`);
      await transaction.query(`CREATE TABLE troupe.migration ${NUMBERS}`);
    }
    if (from < SCHEMA_VERSION)
      await transaction.query(`CREATE TABLE IF NOT EXISTS troupe.expansion ${NUMBERS}`);
    for (const [index, change] of MIGRATIONS.entries()) {
      if (index < from) continue;
      await transaction.query(change);
      const table = index < OLDEST_SCHEMA ? "migration" : "expansion";
      await transaction.query(`INSERT INTO troupe.${table} VALUES ($1, now())`, [index + 1]);
    }
    if (from < SCHEMA_VERSION)
      await transaction.query(
        `INSERT INTO troupe.migration SELECT version, now() FROM troupe.expansion WHERE version <= $1
          ON CONFLICT (version) DO NOTHING`,
        [OLDEST_SCHEMA],
      );
    return { from, to: Math.max(from, SCHEMA_VERSION) };
  });
}

/**
 * Takes back the newest changes, down to a schema, in one transaction. Refuses while a node has the log open, and if the older schema cannot
 * hold something that is there.
 */
export function migrateBack(database: Database, to: number): Promise<Migrated> {
  return database.change(async (transaction) => {
    await lock(database, transaction);
    const { version: from } = await readSchema(database, transaction);
    if (from === 0)
      throw new AgentError("invalid_request", `the database has no tables of a log: ${database.address}`);
    if (to > SCHEMA_VERSION)
      throw new AgentError(
        "invalid_request",
        `this version of troupe knows schema ${SCHEMA_VERSION} and older`,
      );
    if (from > SCHEMA_VERSION)
      throw new AgentError(
        "invalid_request",
        `the database has schema ${from}, and this version of troupe takes back ${SCHEMA_VERSION} and older`,
        { hint: `run \`troupe migrate --to ${to}\` of the newer version` },
      );
    if (to === from) return { from, to };
    if (to > from)
      throw new AgentError(
        "invalid_request",
        `the database has schema ${from} already, which is older than ${to}`,
        {
          hint: "run `troupe migrate` without --to",
        },
      );
    const oldest = Math.min(...WAY_BACK.map(({ version }) => version)) - 1;
    if (to < oldest)
      throw new AgentError(
        "invalid_request",
        `there is no way back from schema ${from} to ${to}, only to ${oldest}`,
        {
          hint: "restore a backup that was made before the update",
        },
      );
    const [{ free } = { free: false }] = await transaction.query<{ free: boolean }>(
      "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS free",
      [`troupe serves ${database.schema}`],
    );
    if (!free)
      throw new AgentError("conflict", "a node has the log in this database open", {
        hint: "stop all nodes, then migrate",
      });
    const steps = WAY_BACK.filter(({ version }) => version > to && version <= from);
    const losses: string[] = [];
    for (const { loss } of steps) {
      if (loss === undefined) continue;
      const [{ count } = { count: 0 }] = await transaction.query<{ count: number }>(loss.count);
      if (count > 0) losses.push(`${count.toLocaleString("en")} ${loss.what}`);
    }
    if (losses.length > 0)
      throw new AgentError(
        "invalid_request",
        `schema ${to} cannot hold what is there: ${losses.join(", ")}`,
        {
          hint: "nothing was changed; stay at this schema, or restore a backup that was made before the update",
        },
      );
    for (const { back } of steps) await transaction.query(back);
    const [{ known } = { known: false }] = await transaction.query<{ known: boolean }>(
      "SELECT to_regclass($1) IS NOT NULL AS known",
      [`${database.schema}.expansion`],
    );
    for (const table of known ? ["migration", "expansion"] : ["migration"])
      await transaction.query(`DELETE FROM troupe.${table} WHERE version > $1`, [to]);
    return { from, to };
  });
}

/** Refuses a database whose tables are older than this version needs, or newer than it may use. */
export async function checkVersion(database: Database): Promise<void> {
  const { version } = await findSchema(database);
  if (version >= SCHEMA_VERSION) return;
  const { address } = database;
  throw new AgentError(
    "invalid_request",
    version === 0
      ? `the database has no tables of a log: ${address}`
      : `the database has schema ${version}, and this version of troupe needs ${SCHEMA_VERSION}: ${address}`,
    { hint: "run `troupe migrate` as a role that may create tables" },
  );
}

/** The schema of a database; refuses one that this version may not use. */
export function findSchema(database: Database): Promise<SchemaNumbers> {
  return readSchema(database, { query: (text, values) => database.once(text, values) });
}

/** What has been changed, with the times: in one table what every node must know, in the other one what older nodes need not know. */
const NUMBERS = "(version integer PRIMARY KEY, at timestamptz NOT NULL)";

/** One node changes the schema at a time. */
async function lock(database: Database, { query }: Transaction): Promise<void> {
  await query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
    `troupe migrates ${database.schema}`,
  ]);
}

async function readSchema(database: Database, { query }: Transaction): Promise<SchemaNumbers> {
  const [found] = await query<{ migration: boolean; expansion: boolean }>(
    "SELECT to_regclass($1) IS NOT NULL AS migration, to_regclass($2) IS NOT NULL AS expansion",
    [`${database.schema}.migration`, `${database.schema}.expansion`],
  );
  if (found?.migration !== true) return { version: 0, oldest: 0 };
  const newest = async (table: string): Promise<number> => {
    const [row] = await query<{ version: number }>(
      `SELECT coalesce(max(version), 0) AS version FROM troupe.${table}`,
    );
    return row?.version ?? 0;
  };
  const oldest = await newest("migration");
  const version = Math.max(oldest, found.expansion ? await newest("expansion") : 0);
  if (oldest > SCHEMA_VERSION) {
    const what = version === oldest ? "" : `, for nodes of schema ${oldest} and newer`;
    throw new AgentError(
      "invalid_request",
      `the database has schema ${version}${what}, and this version of troupe knows ${SCHEMA_VERSION} and older`,
      {
        hint: `npm install troupe@latest, or go back with \`troupe migrate --to ${SCHEMA_VERSION}\` of the newer version`,
      },
    );
  }
  return { version, oldest };
}
