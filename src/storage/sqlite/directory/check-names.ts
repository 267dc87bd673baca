import type { DatabaseSync } from "node:sqlite";
import { DamagedLog } from "../format/errors.ts";

/**
 * Fails if a run, a request, an alias or a reference cannot be found by its name. It would seem not to
 * exist: events would be missing without an error, a request could be accepted a second time, and a secret
 * that a run refers to could be removed. The database stores every name twice; each is looked up in one
 * place with the value from the other.
 */
export function checkNames(database: DatabaseSync): void {
  for (const [what, sql] of Object.entries(LOST))
    if (database.prepare(sql).get() !== undefined) throw new DamagedLog(`${what} is not found by its name`);
  // Releases the pages that the check read into the cache.
  database.exec("PRAGMA shrink_memory");
}

// The plus keeps SQLite from using rid in the search, which would find the row that the name comes from.
const LOST = {
  "a run": `SELECT 1 FROM run AS own NOT INDEXED WHERE NOT EXISTS
    (SELECT 1 FROM run AS named WHERE named.run_id = own.run_id AND +named.rid = own.rid)`,
  "a request": `SELECT 1 FROM request AS own INDEXED BY request_run WHERE NOT EXISTS
    (SELECT 1 FROM request AS named WHERE named.request_id = own.request_id AND +named.rid = own.rid)`,
  "an alias": `SELECT 1 FROM alias AS own INDEXED BY alias_run WHERE NOT EXISTS
    (SELECT 1 FROM alias AS named WHERE named.agent = own.agent AND named.alias = own.alias AND +named.rid = own.rid)`,
  "a reference": `SELECT 1 FROM reference AS own INDEXED BY reference_run WHERE NOT EXISTS
    (SELECT 1 FROM reference AS named WHERE named.thing = own.thing AND +named.rid = own.rid)`,
} as const;
