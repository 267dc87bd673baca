import { summedUntil } from "../../ports/statistics.ts";
import type { Statistics } from "../../ports/statistics.ts";
import type { IndexProgress } from "../sql/background-indexer.ts";
import { encodeStatistics } from "../sql/changes.ts";
import type { Database } from "./connection/database.ts";
import { STATISTIC_COLUMNS } from "./schema/statistics.ts";

/** What turns and completions have done, in its table. */
export function statisticsIn(database: Database, answers: Omit<Statistics, "put" | "remove">): Statistics {
  return {
    ...answers,
    async put(entries) {
      if (entries.length > 0) await database.ask(PUT, [JSON.stringify(entries.map(encodeStatistics))]);
    },
    async remove(owner) {
      await database.ask("DELETE FROM troupe.statistic WHERE owner = $1", [owner]);
    },
  };
}

const NAMES = STATISTIC_COLUMNS.map(([name]) => name);

const PUT = `
  WITH given AS (
    SELECT (value->>0)::bigint AS hour, value->>1 AS owner, (value->>2)::smallint AS kind, value->>3 AS agent, value->>4 AS name,
        value->>5 AS outcome, value->>6 AS run,
        ${STATISTIC_COLUMNS.map(([name, type], at) => `(value->>${at + 7})::${type} AS ${name}`).join(", ")}
      FROM jsonb_array_elements($1::jsonb)
  ), late AS (
    UPDATE troupe.statistic_place
      SET summed = least(summed, (SELECT min(hour) FROM given) / 168 * 168), version = version + 1
  ), dropped AS (
    DELETE FROM troupe.statistic AS known USING given WHERE known.part > 0
      AND (known.hour, known.owner, known.kind, known.agent, known.name, known.outcome)
        = (given.hour, given.owner, given.kind, given.agent, given.name, given.outcome)
  )
  INSERT INTO troupe.statistic (hour, owner, kind, agent, name, outcome, part, run, ${NAMES.join(", ")})
    SELECT hour, owner, kind, agent, name, outcome, 0, run, ${NAMES.join(", ")} FROM given
    ON CONFLICT (hour, owner, kind, agent, name, outcome, part) DO UPDATE SET run = excluded.run,
      ${NAMES.map((name) => `${name} = excluded.${name}`).join(", ")}`;

/** Sums up the next hours, in the background. Another node may be doing so. */
export async function sumHours(database: Database): Promise<IndexProgress> {
  const [place] = await database.ask<Place>(PLACE);
  if (place === undefined || place.last === null) return "done";
  const until = summedUntil(place.last);
  if (place.summed >= until) return "done";
  if (place.summing < until)
    await database.background(({ query }) => query("SELECT troupe.begin_sums_1($1)", [until]));
  const [row] = await database.background(({ query }) =>
    query<{ readonly done: boolean }>("SELECT troupe.sum_hours_1() AS done"),
  );
  return row?.done === true ? "more" : "later";
}

interface Place {
  readonly summed: number;
  readonly summing: number;
  readonly last: number | null;
}

const PLACE =
  "SELECT summed, summing, (SELECT max(hour) FROM troupe.statistic) AS last FROM troupe.statistic_place";
