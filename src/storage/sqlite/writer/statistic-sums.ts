import type { DatabaseSync, StatementSync } from "node:sqlite";
import { summedUntil } from "../../../ports/statistics.ts";
import type { StatisticsChange } from "../../sql/changes.ts";
import { addOwners, addTotals, DAY, HOUR, WEEK } from "../../sql/statistic-sums.ts";
import type { Span } from "../../sql/statistic-sums.ts";

/**
 * Sums of the hours of the statistics, in the transactions of the writer. All hours before a place are in them; those of a week whose
 * hours change afterwards are made again from its start.
 */
export class StatisticSums {
  readonly #statements: Statements;
  readonly #add: readonly StatementSync[];
  readonly #subtract: readonly StatementSync[];
  readonly #forget: readonly (readonly [span: Span, statement: StatementSync])[];
  #summed = 0;

  constructor(database: DatabaseSync) {
    const prepared = Object.entries(SQL).map(([name, text]) => [name, database.prepare(text)]);
    this.#statements = Object.fromEntries(prepared) as Statements;
    const ofHour = "FROM statistic WHERE hour = ?1";
    this.#add = [
      ...[HOUR, DAY].map((span) => addTotals("statistic", span, ofHour)),
      ...[DAY, WEEK].map((span) => addOwners("statistic", span, ofHour)),
    ].map((text) => database.prepare(text));
    this.#subtract = [HOUR, DAY].map((span) =>
      database.prepare(addTotals("statistic", span, OF_OWNER, "-", HOURS)),
    );
    this.#forget = [
      ...[HOUR, DAY].map((span) => [span, "statistic_sum"] as const),
      ...[DAY, WEEK].map((span) => [span, "statistic_owner"] as const),
    ].map(([span, table]) => [
      span,
      database.prepare(`DELETE FROM ${table} WHERE span = ${span} AND hour >= ? AND hour < ?`),
    ]);
    this.load();
  }

  /** Reads the place again, after a transaction that was rolled back. */
  load(): void {
    this.#summed = Number(this.#statements.place.get()?.["summed"] ?? 0);
  }

  /** Hours have changed, maybe some that are summed up. */
  changed(entries: readonly StatisticsChange[]): void {
    for (const [hour] of entries) {
      if (hour >= this.#summed) continue;
      this.#summed = hour - (hour % WEEK);
      this.#statements.goBack.run(this.#summed);
    }
  }

  /** Sums up the next hours. */
  next(): void {
    const { ends, nextHour, goOn } = this.#statements;
    const { first, last } = ends.get() as { readonly first: number | null; readonly last: number | null };
    if (first === null || last === null) return;
    const end = summedUntil(last);
    let rows = 0;
    while (this.#summed < end && rows < STEP_ROWS) {
      const { hour, count } = nextHour.get(this.#summed) as {
        readonly hour: number | null;
        readonly count: number;
      };
      if (hour === null || hour >= end) {
        // Sums that were taken back, of hours that were removed since.
        this.#delete(this.#summed, Number.MAX_SAFE_INTEGER);
        this.#summed = end;
        break;
      }
      const week = hour - (hour % WEEK);
      if (week >= this.#summed) this.#delete(this.#summed, week + WEEK);
      for (const statement of this.#add) statement.run(hour);
      this.#summed = hour + 1;
      rows += count;
    }
    goOn.run(this.#summed);
    for (const [span, statement] of this.#forget) statement.run(0, first - span + 1);
  }

  /** Removes an owner from the hours and the sums. */
  removeOwner(owner: string): void {
    const { removeHours, removeOwnerDays, removeOwnerWeeks, removeEmpty } = this.#statements;
    for (const statement of this.#subtract) statement.run(owner, this.#summed);
    removeEmpty.run();
    removeOwnerDays.run(owner);
    removeOwnerWeeks.run(owner);
    removeHours.run(owner);
  }

  #delete(from: number, until: number): void {
    for (const [, statement] of this.#forget) statement.run(from, until);
  }
}

type Statements = { readonly [Name in keyof typeof SQL]: StatementSync };

/** So many rows are summed up in one transaction, so that a commit hardly waits for it. */
const STEP_ROWS = 2_000;

// The rows of an owner are looked up in each hour, which reads no rows of others.
const HOURS = `WITH RECURSIVE hours (h) AS (SELECT min(hour) FROM statistic UNION ALL
  SELECT h + 1 FROM hours WHERE h < (SELECT max(hour) FROM statistic))`;
const OF_OWNER = "FROM hours CROSS JOIN statistic WHERE hour = h AND owner = ?1 AND hour < ?2";

const SQL = {
  place: "SELECT summed FROM statistic_place",
  goBack: "UPDATE statistic_place SET summed = ?, version = version + 1",
  goOn: "UPDATE statistic_place SET summed = ?",
  ends: "SELECT (SELECT min(hour) FROM statistic) AS first, (SELECT max(hour) FROM statistic) AS last",
  nextHour: `SELECT hour, (SELECT count(*) FROM statistic WHERE hour = found.hour) AS count
    FROM (SELECT min(hour) AS hour FROM statistic WHERE hour >= ?) AS found`,
  removeEmpty: "DELETE FROM statistic_sum WHERE count = 0",
  removeOwnerDays: `${HOURS} DELETE FROM statistic_owner WHERE span = ${DAY} AND owner = ?
    AND hour IN (SELECT h / ${DAY} * ${DAY} FROM hours)`,
  removeOwnerWeeks: `${HOURS} DELETE FROM statistic_owner WHERE span = ${WEEK} AND owner = ?
    AND hour IN (SELECT h / ${WEEK} * ${WEEK} FROM hours)`,
  removeHours: `${HOURS} DELETE FROM statistic WHERE owner = ? AND hour IN (SELECT h FROM hours)`,
} as const;
