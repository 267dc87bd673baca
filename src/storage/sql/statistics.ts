import { STATISTICS_KINDS } from "../../ports/statistics.ts";
import type {
  FailedRun,
  StatisticsBy,
  StatisticsEntry,
  StatisticsGroup,
  StatisticsKey,
  StatisticsQuery,
  StatisticsSums,
} from "../../ports/statistics.ts";
import type { RunId } from "../../protocol/ids.ts";
import { DURATION_COLUMNS } from "./dialect.ts";
import type { SqlDialect } from "./dialect.ts";
import { Conditions, toQuery } from "./query.ts";
import type { SqlQuery } from "./query.ts";

/** The questions to the statistics of an SQL engine. */
export interface StatisticsQueries {
  readonly statisticsSince: SqlQuery<number | undefined>;
  sums(query: StatisticsQuery): SqlQuery<readonly StatisticsGroup[]>;
  failedRuns(query: Omit<StatisticsQuery, "by"> & { readonly limit: number }): SqlQuery<readonly FailedRun[]>;
  /** What is known, or what follows a key of it. */
  statistics(query: {
    readonly after?: StatisticsKey;
    readonly limit: number;
  }): SqlQuery<readonly StatisticsEntry[]>;
}

export function statisticsQueries({ statistics: table, finish }: SqlDialect): StatisticsQueries {
  const toWhere = ({ from, until, owner, agent }: Omit<StatisticsQuery, "by">, also = ""): Conditions => {
    const where = new Conditions(`hour >= ? AND hour < ?${also}`, from, until);
    if (owner !== undefined) where.add("owner = ?", owner);
    if (agent !== undefined) where.add("agent = ?", agent);
    return where;
  };
  return {
    statisticsSince: toQuery(
      `SELECT min(hour) AS hour FROM ${table}`,
      [],
      ([row]: readonly { readonly hour: number | null }[]) => row?.hour ?? undefined,
    ),
    sums(query) {
      const { by } = query;
      const { group, agent, also = "" } = GROUPS[by];
      const where = toWhere(query, also);
      // Adding up the durations takes half of the time, so it is done only where they are shown.
      const durations = by === "operation" || by === "model" ? DURATIONS : "";
      const text = finish(`SELECT ${group} AS grouped, ${agent} AS agent, kind, outcome, ${SUMS}${durations}
        FROM ${table} WHERE ${where.text} GROUP BY 1, 2, 3, 4`);
      return toQuery(text, where.values, (rows: readonly GroupColumns[]) =>
        rows.map((row): StatisticsGroup => ({
          group: row.grouped,
          agent: row.agent,
          kind: STATISTICS_KINDS[row.kind] ?? "turn",
          outcome: row.outcome,
          ...toSums(row),
        })),
      );
    },
    failedRuns({ limit, ...query }) {
      const where = toWhere(query, " AND run IS NOT NULL");
      const text = finish(`SELECT hour, agent, outcome, max(run) AS "runId" FROM ${table} WHERE ${where.text}
        GROUP BY hour, owner, kind, agent, name, outcome ORDER BY hour DESC, owner, kind, agent, name, outcome LIMIT ?`);
      return toQuery(text, [...where.values, limit], (rows: readonly FailedRun[]) => rows);
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
        finish(`SELECT ${KEY}, max(run) AS run, ${SUMS}${DURATIONS} FROM ${table} WHERE ${where.text}
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

const SUMS = [
  ...[
    "count",
    "ms",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "unknown_costs",
  ].map(sum),
  "sum(cost) AS cost",
].join(", ");

const DURATIONS = `, ${DURATION_COLUMNS.map(sum).join(", ")}`;

/** The sum as a number that every engine reads as one. */
function sum(column: string): string {
  return `CAST(sum(${column}) AS bigint) AS ${column}`;
}

interface SumColumns {
  readonly count: number;
  readonly ms: number;
  readonly input_tokens: number;
  readonly cached_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost: number;
  readonly unknown_costs: number;
}

interface GroupColumns extends SumColumns {
  readonly grouped: string | number;
  readonly agent: string;
  readonly kind: number;
  readonly outcome: string;
}

interface EntryColumns extends SumColumns, Omit<StatisticsKey, "kind"> {
  readonly kind: number;
  readonly run: RunId | null;
}

function toSums(row: SumColumns): StatisticsSums {
  const durations = row as unknown as { readonly [column: string]: number | undefined };
  return {
    count: row.count,
    ms: row.ms,
    durations: DURATION_COLUMNS.map((column) => durations[column] ?? 0),
    inputTokens: row.input_tokens,
    cachedTokens: row.cached_tokens,
    outputTokens: row.output_tokens,
    reasoningTokens: row.reasoning_tokens,
    cost: row.cost,
    unknownCosts: row.unknown_costs,
  };
}
