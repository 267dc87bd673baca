import { AgentError } from "../../../errors.ts";
import type { Database, Transaction } from "../connection/database.ts";
import { AUDIT } from "./audit.ts";
import { BASES } from "./bases.ts";
import { FUNCTIONS } from "./functions.ts";
import { GROUP_APPEND } from "./group-append.ts";
import { KEPT_VERSIONS } from "./kept-versions.ts";
import { OWNERS } from "./owners.ts";
import { RECENT } from "./recent.ts";
import { SCHEDULES } from "./schedules.ts";
import { SPENDERS } from "./spenders.ts";
import { SPENT } from "./spent.ts";
import { STATISTICS } from "./statistics.ts";
import { QUEUED, TABLES } from "./tables.ts";
import { TEXTS } from "./texts.ts";

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
];

/** The number of the schema that this version needs. */
export const SCHEMA_VERSION: number = MIGRATIONS.length;

/** The schema before and after a migration. */
export interface Migrated {
  readonly from: number;
  readonly to: number;
}

/** Brings the tables to the current version, in one transaction; other nodes that start wait for it. */
export function migrate(database: Database): Promise<Migrated> {
  return database.transact(async (transaction) => {
    await transaction.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `troupe migrates ${database.schema}`,
    ]);
    const from = await readVersion(database, transaction);
    if (from === 0) {
      const [known] = await transaction.query("SELECT FROM pg_namespace WHERE nspname = $1", [
        database.schema,
      ]);
      // A role without the right to create schemas can use one that an operator has created for it.
      if (known === undefined) await transaction.query(`CREATE SCHEMA ${database.schema}`);
      await transaction.query(
        "CREATE TABLE troupe.migration (version integer PRIMARY KEY, at timestamptz NOT NULL)",
      );
    }
    for (const [index, change] of MIGRATIONS.entries()) {
      if (index < from) continue;
      await transaction.query(change);
      await transaction.query("INSERT INTO troupe.migration VALUES ($1, now())", [index + 1]);
    }
    return { from, to: SCHEMA_VERSION };
  });
}

/** Refuses a database whose tables are not of the current version. */
export async function checkVersion(database: Database): Promise<void> {
  const version = await findVersion(database);
  if (version === SCHEMA_VERSION) return;
  const { address } = database;
  throw new AgentError(
    "invalid_request",
    version === 0
      ? `the database has no tables of a log: ${address}`
      : `the database has schema ${version}, and this version of troupe needs ${SCHEMA_VERSION}: ${address}`,
    { hint: "run `troupe migrate` as a role that may create tables" },
  );
}

/** The number of the schema of a database; 0 if there is none. */
export function findVersion(database: Database): Promise<number> {
  return readVersion(database, { query: (text, values) => database.once(text, values) });
}

async function readVersion(database: Database, { query }: Transaction): Promise<number> {
  const table = `${database.schema}.migration`;
  const [{ exists } = { exists: false }] = await query<{ exists: boolean }>(
    "SELECT to_regclass($1) IS NOT NULL AS exists",
    [table],
  );
  if (!exists) return 0;
  const [{ version } = { version: 0 }] = await query<{ version: number }>(
    "SELECT coalesce(max(version), 0) AS version FROM troupe.migration",
  );
  if (version > SCHEMA_VERSION) {
    throw new AgentError(
      "invalid_request",
      `the database has schema ${version}, and this version of troupe knows ${SCHEMA_VERSION} and older`,
      { hint: "npm install troupe@latest, or restore the backup that was made before the update" },
    );
  }
  return version;
}
