import { Unavailable } from "../../../ports/event-log.ts";
import { toQuery } from "../../sql/query.ts";
import type { SqlQuery } from "../../sql/query.ts";

/**
 * The questions for a run, a request, an alias or a reference that cannot be found by its name, among the runs behind a number up to another one. Such a
 * thing would seem not to exist: events would be missing without an error, a request could be accepted a second time, and a secret
 * that a run refers to could be removed. The database stores every name twice; each is looked up in one
 * place with the value from the other. The plus keeps SQLite from using rid in the search, which would find the row that the name comes from.
 */
export const LOST_NAMES: readonly (readonly [what: string, sql: string])[] = [
  [
    "a run",
    `SELECT 1 FROM run AS own NOT INDEXED WHERE own.rid > ? AND own.rid <= ? AND NOT EXISTS
      (SELECT 1 FROM run AS named WHERE named.run_id = own.run_id AND +named.rid = own.rid)`,
  ],
  [
    "a request",
    `SELECT 1 FROM request AS own INDEXED BY request_run WHERE own.rid > ? AND own.rid <= ? AND NOT EXISTS
      (SELECT 1 FROM request AS named WHERE named.request_id = own.request_id AND +named.rid = own.rid)`,
  ],
  [
    "an alias",
    `SELECT 1 FROM alias AS own INDEXED BY alias_run WHERE own.rid > ? AND own.rid <= ? AND NOT EXISTS
      (SELECT 1 FROM alias AS named WHERE named.agent = own.agent AND named.alias = own.alias AND +named.rid = own.rid)`,
  ],
  [
    "a reference",
    `SELECT 1 FROM reference AS own INDEXED BY reference_run WHERE own.rid > ? AND own.rid <= ? AND NOT EXISTS
      (SELECT 1 FROM reference AS named WHERE named.thing = own.thing AND +named.rid = own.rid)`,
  ],
];

/** So many of the newest runs are looked at before the log opens: for a fraction of a second, however many there are. */
export const NAMES_AT_START = 100_000;

/** So many are one question: the log is not moved into the database before its answer, and a log that is closed waits for it. */
const TOGETHER = 2_000;

/** Looks at all runs up to one, the newest first; returns what is wrong with the log, if something is. */
export async function findLostName(
  last: number,
  ask: <Answer>(query: SqlQuery<Answer>) => Promise<Answer>,
): Promise<string | undefined> {
  for (let to = last; to > 0; to -= TOGETHER)
    for (const [what, sql] of LOST_NAMES) {
      const query = toQuery(sql, [to - TOGETHER, to], (rows) => rows.length > 0);
      try {
        if (await ask(query)) return `the database is damaged: ${what} is not found by its name`;
      } catch (error) {
        // The log was closed meanwhile.
        if (!(error instanceof Unavailable)) return undefined;
        return "the database is damaged: a part of it cannot be read";
      }
    }
  return undefined;
}
