import { setTimeout } from "node:timers/promises";
import type { Database } from "../connection/database.ts";

/** An index that is made while other nodes write, before the change that needs it. */
interface EarlyIndex {
  readonly name: string;
  /** What is behind `CREATE INDEX name`. */
  readonly definition: string;
}

/** The condition that the newest turn of a run has failed. In the text of an error each quotation mark is escaped. */
export const TURN_FAILED = `strpos(last_turn, '"finish_reason":"error"') > 0`;

const LIVE = "stored AND NOT removed";
const OWNED = `${LIVE} AND belongs_to <> 'default'`;

/** The indexes of lists of runs, with these columns at their ends: those of all runs, and that of the runs with something to do. */
function listIndexes(ofAll: string, ofBusy: string): readonly EarlyIndex[] {
  return [
    ["run_agent", `(agent, updated_at DESC, id${ofAll}) WHERE ${LIVE}`],
    ["run_busy", `(status, updated_at DESC, id${ofBusy}) WHERE ${LIVE} AND status > 0`],
    ["run_belongs_to", `(belongs_to, updated_at DESC, id${ofAll}) WHERE ${OWNED}`],
    ["run_belongs_to_agent", `(belongs_to, agent, updated_at DESC, id${ofAll}) WHERE ${OWNED}`],
  ].map(([name = "", definition]) => ({ name, definition: `ON troupe.run ${definition}` }));
}

const WIDE = listIndexes(", status", ", agent");

const OF_FAILED: readonly EarlyIndex[] = [
  {
    name: "run_failed",
    definition: `ON troupe.run (updated_at DESC, id, agent) WHERE ${LIVE} AND ${TURN_FAILED}`,
  },
  {
    name: "run_failed_of",
    definition: `ON troupe.run (belongs_to, updated_at DESC, id, agent) WHERE ${OWNED} AND ${TURN_FAILED}`,
  },
];

/** The number of the change. */
export const LIST_INDEXES_VERSION = 18;

const nextName = (name: string): string => `${name}_${LIST_INDEXES_VERSION}`;

/** The indexes that are made before the eighteenth change, of which those that replace others have names of their own until then. */
const EARLY_INDEXES: readonly EarlyIndex[] = [
  ...WIDE.map(({ name, definition }) => ({ name: nextName(name), definition })),
  ...OF_FAILED,
];

/**
 * The eighteenth change of the schema: the indexes of lists of runs have the status or the agent behind what they sort by. So a list leaves
 * out runs by the index, of which there can be many, without reading their rows. They replace those of the same names, so that a turn
 * writes no more entries, and serve nodes of the version before as those did. The index of all runs stays as it is: with the status in it, the
 * planner takes it for the runs that wait, which can all be at its end. The runs that failed have indexes of their own, in which a
 * turn that ends well writes nothing.
 */
export const LIST_INDEXES: string = `
${EARLY_INDEXES.map(({ name, definition }) => `CREATE INDEX IF NOT EXISTS ${name} ${definition};`).join("\n")}
${WIDE.map(({ name }) => `DROP INDEX troupe.${name}; ALTER INDEX troupe.${nextName(name)} RENAME TO ${name};`).join("\n")}
-- The runs of most agents never wait. Without this the planner takes an index that would be right if those of each did as often.
CREATE STATISTICS troupe.run_agent_status (mcv) ON agent, status FROM troupe.run;
ANALYZE troupe.run;
`;

/** What takes the eighteenth change back. An index is no data, so nothing is lost. */
export const LIST_INDEXES_BACK: string = `
DROP STATISTICS troupe.run_agent_status;
DROP INDEX ${[...WIDE, ...OF_FAILED].map(({ name }) => `troupe.${name}`).join(", ")};
${listIndexes("", "")
  .map(({ name, definition }) => `CREATE INDEX ${name} ${definition};`)
  .join("\n")}
`;

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
