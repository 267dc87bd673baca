import { NO_SUMS, STATISTICS_KINDS } from "../../ports/statistics.ts";
import type {
  FailedRun,
  OwnersQuery,
  OwnerSums,
  StatisticsBy,
  StatisticsEntry,
  StatisticsGroup,
  StatisticsKey,
  StatisticsQuery,
  StatisticsReader,
  StatisticsSums,
} from "../../ports/statistics.ts";
import type { RunId } from "../../protocol/ids.ts";
import { DURATION_COLUMNS } from "./dialect.ts";
import type { SqlDialect } from "./dialect.ts";
import { Conditions, toQuery } from "./query.ts";
import type { QueryValue, SqlQuery } from "./query.ts";
import { COUNTED, coverHours, DAY, HOUR, OWNER_SUMS, WEEK } from "./statistic-sums.ts";
import type { CoverPart } from "./statistic-sums.ts";

/** Which hours there are, and up to which one they are summed up. */
export interface SummedHours {
  /** All hours before this one are in the sums. */
  readonly summed: number;
  /** Changes when `summed` goes back. */
  readonly version: number;
  readonly first: number | undefined;
  readonly last: number | undefined;
}

/** Which sums a question reads. */
interface ReadSums {
  readonly summed: number;
  readonly takesNewest: boolean;
}

/** The questions to the statistics of an SQL engine. */
export interface StatisticsQueries {
  readonly statisticsPlace: SqlQuery<SummedHours>;
  /** Of hours that there are. */
  sums(query: StatisticsQuery, place: ReadSums): SqlQuery<readonly StatisticsGroup[]>;
  owners(query: OwnersQuery, place: ReadSums): SqlQuery<OwnerSums>;
  failedRuns(query: Omit<StatisticsQuery, "by"> & { readonly limit: number }): SqlQuery<readonly FailedRun[]>;
  /** What is known, or what follows a key of it. */
  statistics(query: {
    readonly after?: StatisticsKey;
    readonly limit: number;
  }): SqlQuery<readonly StatisticsEntry[]>;
}

export function statisticsQueries({ statistics: table, finish }: SqlDialect): StatisticsQueries {
  /** The rows of one owner, which are few in an hour: each hour is looked up, so that no rows of others are read. */
  const ofOwner = (query: StatisticsQuery, owner: string): SqlQuery<readonly StatisticsGroup[]> => {
    const where = new Conditions(
      `hour = h AND owner = ?${GROUPS[query.by].also ?? ""}`,
      query.from,
      query.until,
      owner,
    );
    if (query.agent !== undefined) where.add("agent = ?", query.agent);
    const text = `WITH RECURSIVE hours (h) AS (SELECT CAST(? AS bigint) UNION ALL SELECT h + 1 FROM hours WHERE h + 1 < ?)
      SELECT ${groupOf(query)}, ${sumsOf(query)} FROM hours CROSS JOIN ${table} WHERE ${where.text} GROUP BY 1, 2, 3, 4`;
    return toQuery(finish(text), where.values, toGroups);
  };

  /** The rows of all owners, which are in the sums without their owners. */
  const ofAll = (query: StatisticsQuery, place: ReadSums): SqlQuery<readonly StatisticsGroup[]> => {
    const spans = query.by === "hour" ? [] : [DAY];
    const parts = coverHours(query, { ...place, spans, smallest: HOUR });
    const columns = `${COUNTED.join(", ")}${hasDurations(query.by) ? `, ${DURATION_COLUMNS.join(", ")}` : ""}`;
    const values: QueryValue[] = [];
    const selects = parts.map((part) => {
      const where = toWhere(part, GROUPS[query.by].also);
      if (query.agent !== undefined) where.add("agent = ?", query.agent);
      values.push(...where.values);
      return `SELECT ${groupOf(query)}, ${columns} FROM ${part.span === 0 ? table : `${table}_sum`} WHERE ${where.text}`;
    });
    const text = `SELECT grouped, agent, kind, outcome, ${sumsOf(query)} FROM (${selects.join(" UNION ALL ")}) AS parts
      GROUP BY 1, 2, 3, 4`;
    return toQuery(finish(text), values, toGroups);
  };

  /**
   * The rows of owners, which have sums of their own: without agents and names, of turns and completions in one row. `columns` says what is
   * read of a row.
   */
  const ownerRows = (
    query: Omit<OwnersQuery, "limit">,
    place: ReadSums,
    columns: (span: CoverPart["span"]) => string,
    also = "",
  ): Conditions => {
    // Agents are only in what was counted.
    const known = query.agent === undefined ? place : { summed: 0, takesNewest: false };
    const values: QueryValue[] = [];
    const selects = coverHours(query, { ...known, spans: [WEEK, DAY], smallest: 0 }).map((part) => {
      const where = toWhere(part, also);
      if (query.agent !== undefined) where.add("agent = ?", query.agent);
      values.push(...where.values);
      return `SELECT owner, ${columns(part.span)} FROM ${part.span === 0 ? table : `${table}_owner`} WHERE ${where.text}`;
    });
    return new Conditions(selects.join(" UNION ALL "), ...values);
  };

  const byOwner = (query: StatisticsQuery, place: ReadSums): SqlQuery<readonly StatisticsGroup[]> => {
    const { text, values } = ownerRows(query, place, ownerColumns);
    return toQuery(finish(`${SUM_OWNERS} FROM (${text}) AS parts GROUP BY 1, 2`), values, toKinds);
  };

  /** The owners that have used an agent. Its rows are found among those of all others, which are read once. */
  const ownersOf = ({ limit, ...query }: OwnersQuery, place: ReadSums): SqlQuery<OwnerSums> => {
    const { text: parts, values } = ownerRows(query, place, ownerColumns);
    const text = `WITH sums AS MATERIALIZED (${SUM_OWNERS} FROM (${parts}) AS parts GROUP BY 1, 2),
        top AS MATERIALIZED (SELECT owner, count(*) OVER () AS known FROM sums
          GROUP BY owner ORDER BY sum(turns + completions) DESC, owner LIMIT ?)
      SELECT sums.*, known FROM top JOIN sums ON sums.owner = top.owner`;
    return toQuery(finish(text), [...values, limit], toOwners);
  };

  return {
    statisticsPlace: toQuery(
      `SELECT summed, version, (SELECT min(hour) FROM ${table}) AS first, (SELECT max(hour) FROM ${table}) AS last
        FROM ${table}_place`,
      [],
      ([row]: readonly PlaceColumns[]) => ({
        summed: row?.summed ?? 0,
        version: row?.version ?? 0,
        first: row?.first ?? undefined,
        last: row?.last ?? undefined,
      }),
    ),
    sums(query, place) {
      if (query.owner !== undefined) return ofOwner(query, query.owner);
      return query.by === "owner" ? byOwner(query, place) : ofAll(query, place);
    },
    owners(asked, place) {
      if (asked.agent !== undefined) return ownersOf(asked, place);
      const { limit, ...query } = asked;
      // Their outcomes and numbers are read of the chosen ones only.
      const ranks = ownerRows(query, place, (span) =>
        span === 0 ? "count" : "turns + completions AS count",
      );
      const sums = ownerRows(query, place, ownerColumns, " AND owner IN (SELECT owner FROM top)");
      const text = `WITH top AS MATERIALIZED (SELECT owner, count(*) OVER () AS known FROM (${ranks.text}) AS ranks
          GROUP BY owner ORDER BY sum(count) DESC, owner LIMIT ?)
        ${SUM_OWNERS}, (SELECT max(known) FROM top) AS known FROM (${sums.text}) AS parts GROUP BY 1, 2`;
      return toQuery(finish(text), [...ranks.values, limit, ...sums.values], toOwners);
    },
    failedRuns({ limit, from, until, owner, agent }) {
      const where = toWhere({ span: 0, from, until }, " AND run IS NOT NULL");
      if (owner !== undefined) where.add("owner = ?", owner);
      if (agent !== undefined) where.add("agent = ?", agent);
      const order = "hour DESC, owner, kind, agent, name, outcome";
      // An engine may have several rows with a key. The newest are read first, by an index of those that have a run.
      const text = finish(`SELECT hour, agent, outcome, max(run) AS "runId"
        FROM (SELECT ${KEY}, run FROM ${table} WHERE ${where.text} ORDER BY ${order} LIMIT ?) AS newest
        GROUP BY ${KEY} ORDER BY ${order} LIMIT ?`);
      const values = [...where.values, limit * MOST_ROWS_OF_KEY, limit];
      return toQuery(text, values, (rows: readonly FailedRun[]) => rows);
    },
    statistics({ after, limit }) {
      const where = new Conditions("1 = 1");
      if (after !== undefined) {
        const { hour, owner, kind, agent, name, outcome } = after;
        const place = [hour, owner, STATISTICS_KINDS.indexOf(kind), agent, name, outcome];
        where.add(`(${KEY}) > (?, ?, ?, ?, ?, ?)`, ...place);
      }
      // An engine may have several rows with a key.
      const text =
        finish(`SELECT ${KEY}, max(run) AS run, ${SUMS}, ${DURATIONS} FROM ${table} WHERE ${where.text}
        GROUP BY ${KEY} ORDER BY ${KEY} LIMIT ?`);
      return toQuery(text, [...where.values, limit], (rows: readonly EntryColumns[]) =>
        rows.map((row): StatisticsEntry => ({
          hour: row.hour,
          owner: row.owner,
          kind: STATISTICS_KINDS[row.kind] ?? "turn",
          agent: row.agent,
          name: row.name,
          outcome: row.outcome,
          ...(row.run !== null && { runId: row.run }),
          ...toSums(row),
        })),
      );
    },
  };
}

/** Answers from the tables of an SQL engine. */
export function statisticsAnswers(
  queries: StatisticsQueries,
  ask: <Answer>(query: SqlQuery<Answer>) => Answer | Promise<Answer>,
): StatisticsReader {
  const read = async <Query extends Pick<StatisticsQuery, "from" | "until">, Answer>(
    query: Query,
    question: (query: Query, place: ReadSums) => SqlQuery<Answer>,
    none: Answer,
  ): Promise<Answer> => {
    for (let tries = 1; ; tries += 1) {
      const { first = 0, last = 0, version, ...found } = await ask(queries.statisticsPlace);
      const [from, until] = [Math.max(query.from, first), Math.min(query.until, last + 1)];
      if (from >= until) return none;
      // What was counted is always right, and slower.
      const summed = tries < SUM_TRIES ? found.summed : 0;
      const takesNewest = tries === 1;
      const answer = await ask(question({ ...query, from, until }, { summed, takesNewest }));
      if (summed === 0) return answer;
      // Sums that were taken back meanwhile may have been read in part, and the newest ones may have grown.
      const now = await ask(queries.statisticsPlace);
      if (now.version === version && (!takesNewest || now.summed === summed)) return answer;
    }
  };
  return {
    since: async () => (await ask(queries.statisticsPlace)).first,
    sum: (query) => read(query, queries.sums, []),
    owners: (query) => read(query, queries.owners, { count: 0, groups: [] }),
    failed: async (query) => ask(queries.failedRuns(query)),
    list: async (query) => ask(queries.statistics(query)),
  };
}

const SUM_TRIES = 3;

const MOST_ROWS_OF_KEY = 8;

const KEY = "hour, owner, kind, agent, name, outcome";

const [TURN, COMPLETION] = [STATISTICS_KINDS.indexOf("turn"), STATISTICS_KINDS.indexOf("completion")];

interface Grouping {
  readonly group: string;
  readonly agent: string;
  readonly also?: string;
}

const GROUPS: Readonly<Record<StatisticsBy, Grouping>> = {
  agent: { group: "agent", agent: "''" },
  model: { group: "name", agent: "''", also: ` AND kind = ${COMPLETION}` },
  operation: { group: "name", agent: "agent", also: ` AND kind = ${TURN}` },
  error: {
    group: "outcome",
    agent: "agent",
    also: ` AND kind = ${TURN} AND outcome >= 'error:' AND outcome < 'error;'`,
  },
  owner: { group: "owner", agent: "''" },
  hour: { group: "hour", agent: "''" },
  day: { group: "hour / 24 * 24", agent: "''" },
};

function groupOf({ by }: StatisticsQuery): string {
  const { group, agent } = GROUPS[by];
  return `${group} AS grouped, ${agent} AS agent, kind, outcome`;
}

function toWhere({ span, from, until }: CoverPart, also = ""): Conditions {
  const of = span === 0 ? "" : `span = ${span} AND `;
  return new Conditions(`${of}hour >= ? AND hour < ?${also}`, from, until);
}

function ownerColumns(span: CoverPart["span"]): string {
  const sums = OWNER_SUMS.map(([name, value]) => (span === 0 ? `${value} AS ${name}` : name));
  return `outcome, ${sums.join(", ")}`;
}

const SUMS = COUNTED.map(sum).join(", ");
const DURATIONS = DURATION_COLUMNS.map(sum).join(", ");

const SUM_OWNERS = `SELECT owner, outcome, ${OWNER_SUMS.map(([name]) => sum(name)).join(", ")}`;

function sumsOf({ by }: StatisticsQuery): string {
  return hasDurations(by) ? `${SUMS}, ${DURATIONS}` : SUMS;
}

/** Adding up the durations takes half of the time, so it is done only where they are shown. */
function hasDurations(by: StatisticsBy): boolean {
  return by === "operation" || by === "model";
}

/** The sum as a number that every engine reads as one. */
function sum(column: string): string {
  return column === "cost" ? "sum(cost) AS cost" : `CAST(sum(${column}) AS bigint) AS ${column}`;
}

interface PlaceColumns {
  readonly summed: number;
  readonly version: number;
  readonly first: number | null;
  readonly last: number | null;
}

interface UsedColumns {
  readonly input_tokens: number;
  readonly cached_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost: number;
  readonly unknown_costs: number;
}

interface SumColumns extends UsedColumns {
  readonly count: number;
  readonly ms: number;
}

interface GroupColumns extends SumColumns {
  readonly grouped: string | number;
  readonly agent: string;
  readonly kind: number;
  readonly outcome: string;
}

interface OwnerColumns extends UsedColumns {
  readonly owner: string;
  readonly outcome: string;
  readonly turns: number;
  readonly turn_ms: number;
  readonly completions: number;
  readonly completion_ms: number;
}

interface EntryColumns extends SumColumns, Omit<StatisticsKey, "kind"> {
  readonly kind: number;
  readonly run: RunId | null;
}

function toGroups(rows: readonly GroupColumns[]): readonly StatisticsGroup[] {
  return rows.map((row) => ({
    group: row.grouped,
    agent: row.agent,
    kind: STATISTICS_KINDS[row.kind] ?? "turn",
    outcome: row.outcome,
    ...toSums(row),
  }));
}

function toOwners(rows: readonly (OwnerColumns & { readonly known: number })[]): OwnerSums {
  return { count: rows[0]?.known ?? 0, groups: toKinds(rows) };
}

/** The turns and the completions of each owner. Turns themselves use nothing. There may be ten thousands, so none is copied. */
function toKinds(rows: readonly OwnerColumns[]): readonly StatisticsGroup[] {
  const both: StatisticsGroup[] = [];
  const { durations } = NO_SUMS;
  for (const row of rows) {
    const { owner: group, outcome, turns, completions } = row;
    if (turns > 0)
      both.push({
        group,
        agent: "",
        kind: "turn",
        outcome,
        count: turns,
        ms: row.turn_ms,
        durations,
        inputTokens: 0,
        cachedTokens: 0,
        outputTokens: 0,
        reasoningTokens: 0,
        cost: 0,
        unknownCosts: 0,
      });
    if (completions > 0)
      both.push({
        group,
        agent: "",
        kind: "completion",
        outcome,
        count: completions,
        ms: row.completion_ms,
        durations,
        inputTokens: row.input_tokens,
        cachedTokens: row.cached_tokens,
        outputTokens: row.output_tokens,
        reasoningTokens: row.reasoning_tokens,
        cost: row.cost,
        unknownCosts: row.unknown_costs,
      });
  }
  return both;
}

function toSums(row: SumColumns): StatisticsSums {
  const durations = row as unknown as { readonly [column: string]: number | undefined };
  return {
    count: row.count,
    ms: row.ms,
    durations: "d0" in row ? DURATION_COLUMNS.map((column) => durations[column] ?? 0) : NO_SUMS.durations,
    inputTokens: row.input_tokens,
    cachedTokens: row.cached_tokens,
    outputTokens: row.output_tokens,
    reasoningTokens: row.reasoning_tokens,
    cost: row.cost,
    unknownCosts: row.unknown_costs,
  };
}
