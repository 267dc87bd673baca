import type { EventLog } from "../../ports/event-log.ts";
import { DURATION_BOUNDS_MS, HOUR_MS, NO_SUMS, addSums } from "../../ports/statistics.ts";
import type { FailedRun, StatisticsBy, StatisticsGroup, StatisticsSums } from "../../ports/statistics.ts";
import type {
  StatisticsAnswer,
  StatisticsLatency,
  StatisticsRow,
} from "../../protocol/answers/statistics.ts";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { RunId } from "../../protocol/ids.ts";

/** Selects what `Runtime.statistics` sums up. */
export interface RuntimeStatisticsQuery {
  readonly by: StatisticsBy;
  /** From the start of the hour with this time, in milliseconds since 1970. Default: a day ago. */
  readonly since?: number;
  /** To the end of the hour before this time, or of the one with it. Default: now. */
  readonly until?: number;
  readonly owner?: string;
  readonly agent?: string;
}

/** Sums up what the log has counted. */
export async function readStatistics(
  { statistics }: Pick<EventLog, "statistics">,
  { by, since, until, ...which }: RuntimeStatisticsQuery,
  now: number,
): Promise<StatisticsAnswer> {
  const end = Math.ceil((until ?? now + 1) / HOUR_MS);
  const query = { ...which, from: Math.floor((since ?? end * HOUR_MS - DAY_MS) / HOUR_MS), until: end };
  const [first, groups, failed] = await Promise.all([
    statistics.since(),
    statistics.sum({ ...query, by }),
    by === "error" ? statistics.failed({ ...query, limit: FAILED_RUNS }) : [],
  ]);
  const rows = toRows(by, groups, failed);
  const isOfTime = by === "hour" || by === "day";
  rows.sort((a, b) =>
    isOfTime ? compare(a.name, b.name) : countOf(b) - countOf(a) || compare(a.name, b.name),
  );
  return {
    by,
    ...(first !== undefined && { since: toTime(first) }),
    from: toTime(query.from),
    until: toTime(query.until),
    total: toRow("", groups),
    rows: rows.slice(0, ROWS),
    ...(rows.length > ROWS && { groups: rows.length }),
  };
}

const DAY_MS = 24 * HOUR_MS;
const ROWS = 1_000;
const FAILED_RUNS = 1_000;
const SHOWN_RUNS = 10;

function toRows(
  by: StatisticsBy,
  groups: readonly StatisticsGroup[],
  failed: readonly FailedRun[],
): StatisticsRow[] {
  const runs = new Map<string, Set<RunId>>();
  for (const { agent, outcome, runId } of failed) {
    const key = `${agent} ${outcome}`;
    const known = runs.get(key) ?? new Set();
    if (known.size < SHOWN_RUNS) known.add(runId);
    runs.set(key, known);
  }
  const grouped = Map.groupBy(groups, ({ agent, group }) => `${agent} ${group}`);
  return [...grouped].map(([key, parts]) => {
    const { group = "", agent = "" } = parts[0] ?? {};
    const name = typeof group === "number" ? toTime(group) : by === "error" ? codeOf(group) : group;
    return {
      ...toRow(name, parts),
      ...(agent !== "" && { agent }),
      ...((by === "operation" || by === "model") && { latency: toLatency(parts) }),
      ...(by === "error" && { run_ids: [...(runs.get(key) ?? [])] }),
    };
  });
}

function toRow(name: string, groups: readonly StatisticsGroup[]): StatisticsRow {
  const turns = groups.filter(({ kind }) => kind === "turn");
  const completions = groups.filter(({ kind }) => kind === "completion");
  const errors: Record<string, number> = {};
  for (const { outcome, count } of turns)
    if (isError(outcome)) errors[codeOf(outcome)] = (errors[codeOf(outcome)] ?? 0) + count;
  const sums = completions.reduce<StatisticsSums>(addSums, NO_SUMS);
  return {
    name,
    turns: toOutcomes(turns),
    ...(Object.keys(errors).length > 0 && { errors }),
    completions: toOutcomes(completions),
    usage: toUsage(sums),
    unknown_costs: sums.unknownCosts,
  };
}

function toOutcomes(groups: readonly StatisticsGroup[]): StatisticsRow["turns"] {
  const sum = (includes: (outcome: string) => boolean): number =>
    groups.reduce((total, { outcome, count }) => total + (includes(outcome) ? count : 0), 0);
  return {
    success: sum((outcome) => outcome === "success"),
    error: sum(isError),
    canceled: sum((outcome) => outcome === "canceled"),
    ms: groups.reduce((total, { ms }) => total + ms, 0),
  };
}

function toUsage({ inputTokens, cachedTokens, outputTokens, reasoningTokens, cost }: StatisticsSums): Usage {
  return {
    ...(inputTokens > 0 && { input_tokens: inputTokens }),
    ...(cachedTokens > 0 && { cached_input_tokens: cachedTokens }),
    ...(outputTokens > 0 && { output_tokens: outputTokens }),
    ...(reasoningTokens > 0 && { reasoning_tokens: reasoningTokens }),
    cost,
  };
}

function toLatency(groups: readonly StatisticsGroup[]): StatisticsLatency {
  const { durations, count } = groups.reduce<StatisticsSums>(addSums, NO_SUMS);
  const at = (part: number): number => Math.round(quantile(durations, part * count));
  return { p50_ms: at(0.5), p90_ms: at(0.9), p99_ms: at(0.99) };
}

/** The time that so many took at most, as if those of a bucket were spread over it evenly. */
function quantile(durations: readonly number[], wanted: number): number {
  let before = 0;
  for (const [place, count] of durations.entries()) {
    const low = DURATION_BOUNDS_MS[place - 1] ?? 0;
    const high = DURATION_BOUNDS_MS[place];
    // Of those above all bounds it is only known that they are.
    if (high === undefined) return low;
    if (count > 0 && before + count >= wanted) return low + ((high - low) * (wanted - before)) / count;
    before += count;
  }
  return 0;
}

function isError(outcome: string): boolean {
  return outcome.startsWith(ERROR);
}

function codeOf(outcome: string): string {
  return outcome.slice(ERROR.length);
}

const ERROR = "error:";

function countOf({ turns, completions }: StatisticsRow): number {
  const sum = ({ success, error, canceled }: StatisticsRow["turns"]): number => success + error + canceled;
  return sum(turns) + sum(completions);
}

function toTime(hour: number): string {
  return new Date(hour * HOUR_MS).toISOString();
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
