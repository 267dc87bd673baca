import type { Database } from "../connection/database.ts";
import { STATISTIC_COLUMNS } from "../schema/statistics.ts";

/**
 * Takes what a database without shards still has: the audit trail, the statistics, and what was spent, which are not parts of a run. It
 * is added and noted in one transaction, then deleted, then the note; so it is added once, also after an interruption.
 */
export async function takeRest(
  { number, database: source }: { readonly number: number; readonly database: Database },
  target: Database,
): Promise<void> {
  await target.background(async ({ query }) => {
    const noted = await query(
      "INSERT INTO troupe.taken VALUES ($1) ON CONFLICT DO NOTHING RETURNING number",
      [number],
    );
    if (noted.length === 0) return;
    for (const [table, add] of ADDED)
      await source.background(async (from) => {
        await from.query(
          `DECLARE rest CURSOR FOR SELECT row_to_json(${table})::text AS row FROM troupe.${table}`,
        );
        for (;;) {
          const rows = await from.query<{ row: string }>("FETCH 1000 FROM rest");
          if (rows.length === 0) return;
          await query(add, [`[${rows.map(({ row }) => row).join(",")}]`]);
        }
      });
    await query(SUM_AGAIN);
  });
  await endTaking({ number, database: source }, target);
}

/** Deletes what was taken from a database, then the note. Must happen before the database gets shards again. */
async function endTaking(
  { number, database: source }: { readonly number: number; readonly database: Database },
  target: Database,
): Promise<void> {
  await source.transact(async ({ query }) => {
    await query(
      "TRUNCATE troupe.audit, troupe.statistic, troupe.statistic_sum, troupe.statistic_owner, troupe.spent",
    );
    await query("UPDATE troupe.statistic_place SET summed = 0, summing = 0, version = version + 1");
  });
  await target.ask("DELETE FROM troupe.taken WHERE number = $1", [number]);
}

/** Ends what was interrupted between the note and its end. */
export async function endTakings(
  databases: readonly { readonly number: number; readonly database: Database }[],
): Promise<void> {
  for (const { database: target } of databases) {
    const noted = await target.ask<{ number: number }>("SELECT number FROM troupe.taken");
    for (const { number } of noted) {
      const source = databases.find((one) => one.number === number);
      if (source !== undefined) await endTaking(source, target);
    }
  }
}

const KEY = "hour, owner, kind, agent, name, outcome";
const NAMES = STATISTIC_COLUMNS.map(([name]) => name);

/** No append adds to rows of this part, so that none waits. */
const TAKEN_PART = 8;

/** The tables and how their rows are added; last those for which appends wait. */
const ADDED: readonly (readonly [table: string, add: string])[] = [
  [
    "audit",
    `INSERT INTO troupe.audit (at, owner, by_id, by_name, action, run, request, event, detail, times)
      SELECT at, owner, by_id, by_name, action, run, request, event, detail, times
        FROM json_populate_recordset(NULL::troupe.audit, $1::json) ORDER BY at, n`,
  ],
  [
    "statistic",
    `INSERT INTO troupe.statistic AS known (${KEY}, part, run, ${NAMES.join(", ")})
      SELECT ${KEY}, ${TAKEN_PART}, max(run), ${NAMES.map((name) => `sum(${name})`).join(", ")}
        FROM json_populate_recordset(NULL::troupe.statistic, $1::json) GROUP BY ${KEY}
      ON CONFLICT (${KEY}, part) DO UPDATE SET run = coalesce(excluded.run, known.run),
        ${NAMES.map((name) => `${name} = known.${name} + excluded.${name}`).join(", ")}`,
  ],
  [
    "spent",
    `INSERT INTO troupe.spent AS known (owner, day, tokens, cost, raised_tokens, raised_cost)
      SELECT owner, day, tokens, cost, raised_tokens, raised_cost
        FROM json_populate_recordset(NULL::troupe.spent, $1::json) ORDER BY owner, day
      ON CONFLICT (owner, day) DO UPDATE SET tokens = known.tokens + excluded.tokens, cost = known.cost + excluded.cost,
        raised_tokens = known.raised_tokens + excluded.raised_tokens, raised_cost = known.raised_cost + excluded.raised_cost`,
  ],
];

/** The sums of the hours are made again. */
const SUM_AGAIN = `UPDATE troupe.statistic_place SET version = version + 1,
  summed = least(summed, (SELECT min(hour) FROM troupe.statistic WHERE part = ${TAKEN_PART}) / 168 * 168)`;
