import { setTimeout } from "node:timers/promises";
import type { Database } from "../connection/database.ts";
import { EARLY_INDEXES } from "./list-indexes.ts";
import type { EarlyIndex } from "./list-indexes.ts";

/**
 * Makes the indexes that a change needs before it, while other nodes write: in the transaction of the change, writers would wait for
 * some seconds for each million runs.
 */
export async function makeEarlyIndexes(database: Database): Promise<void> {
  for (const index of EARLY_INDEXES) await make(database, index);
}

async function make(database: Database, { name, definition }: EarlyIndex): Promise<void> {
  for (;;) {
    const [state] = await database.ask<{ valid: boolean; busy: boolean }>(STATE, [name, database.schema]);
    if (state?.valid === true) return;
    if (state === undefined)
      await database.long(`CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ${definition}`);
    // Another node that starts makes it.
    else if (state.busy) await setTimeout(LOOK_MS);
    // One that was interrupted has left it.
    else await database.long(`DROP INDEX CONCURRENTLY IF EXISTS troupe.${name}`);
  }
}

const LOOK_MS = 200;

const STATE = `SELECT indisvalid AS valid,
    EXISTS (SELECT FROM pg_stat_progress_create_index WHERE index_relid = indexrelid) AS busy
  FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE relname = $1 AND nspname = $2`;
