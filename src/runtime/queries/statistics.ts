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
  // There may be any number of owners, so only those that are shown are summed up, and the whole is read without them.
  const isOfMany = by === "owner" && which.owner === undefined;
  const [first, all, failed, owners] = await Promise.all([
    statistics.since(),
    statistics.sum({ ...query, by: isOfMany ? "day" : by }),
    by === "error" ? statistics.failed({ ...query, limit: FAILED_RUNS }) : [],
    isOfMany ? statistics.owners({ ...query, limit: ROWS }) : undefined,
  ]);
  const known = toParts(owners?.groups ?? all);
  const isOfTime = by === "hour" || by === "day";
  known.sort((a, b) =>
    isOfTime
      ? compare(a.group, b.group)
      : b.count - a.count || compare(nameOf(by, a.group), nameOf(by, b.group)),
  );
  const rows = toRows(by, known.slice(0, ROWS), failed);
  const count = owners?.count ?? known.length;
  return {
    by,
    ...(first !== undefined && { since: toTime(first) }),
    from: toTime(query.from),
    until: toTime(query.until),
    total: toRow("", all),
    rows,
    ...(count > ROWS && { groups: count }),
  };
}

const DAY_MS = 24 * HOUR_MS;
const ROWS = 1_000;
const FAILED_RUNS = 1_000;
const SHOWN_RUNS = 10;

/** The sums of what is a row of the answer. */
interface Parts {
  readonly group: string | number;
  readonly agent: string;
  readonly count: number;
  readonly parts: readonly StatisticsGroup[];
}

function toParts(groups: readonly StatisticsGroup[]): Parts[] {
  const known = new Map<
    string | number,
    { group: string | number; agent: string; count: number; parts: StatisticsGroup[] }
  >();
  for (const one of groups) {
    const { group, agent, count } = one;
    const key = agent === "" ? group : `${agent} ${group}`;
    const found = known.get(key);
    if (found === undefined) known.set(key, { group, agent, count, parts: [one] });
    else {
      found.count += count;
      found.parts.push(one);
    }
  }
  return [...known.values()];
}

function toRows(by: StatisticsBy, known: readonly Parts[], failed: readonly FailedRun[]): StatisticsRow[] {
  const runs = new Map<string, Set<RunId>>();
  for (const { agent, outcome, runId } of failed) {
    const key = `${agent} ${outcome}`;
    const found = runs.get(key) ?? new Set();
    if (found.size < SHOWN_RUNS) found.add(runId);
    runs.set(key, found);
  }
  return known.map(({ group, agent, parts }) => ({
    ...toRow(nameOf(by, group), parts),
    ...(agent !== "" && { agent }),
    ...((by === "operation" || by === "model") && { latency: toLatency(parts) }),
    ...(by === "error" && { run_ids: [...(runs.get(`${agent} ${group}`) ?? [])] }),
  }));
}

function nameOf(by: StatisticsBy, group: string | number): string {
  return typeof group === "number" ? toTime(group) : by === "error" ? codeOf(group) : group;
}

function toRow(name: string, groups: readonly StatisticsGroup[]): StatisticsRow {
  const [turns, completions] = [newOutcomes(), newOutcomes()];
  const errors: Record<string, number> = {};
  const used = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0, cost: 0 };
  let unknownCosts = 0;
  for (const one of groups) {
    const { kind, outcome, count, ms } = one;
    const outcomes = kind === "turn" ? turns : completions;
    outcomes.ms += ms;
    if (outcome === "success" || outcome === "canceled") outcomes[outcome] += count;
    else if (isError(outcome)) {
      outcomes.error += count;
      if (kind === "turn") errors[codeOf(outcome)] = (errors[codeOf(outcome)] ?? 0) + count;
    }
    if (kind === "turn") continue;
    used.inputTokens += one.inputTokens;
    used.cachedTokens += one.cachedTokens;
    used.outputTokens += one.outputTokens;
    used.reasoningTokens += one.reasoningTokens;
    used.cost += one.cost;
    unknownCosts += one.unknownCosts;
  }
  return {
    name,
    turns,
    ...(Object.keys(errors).length > 0 && { errors }),
    completions,
    usage: toUsage(used),
    unknown_costs: unknownCosts,
  };
}

function newOutcomes(): { success: number; error: number; canceled: number; ms: number } {
  return { success: 0, error: 0, canceled: 0, ms: 0 };
}

function toUsage({
  inputTokens,
  cachedTokens,
  outputTokens,
  reasoningTokens,
  cost,
}: Omit<StatisticsSums, "count" | "ms" | "durations" | "unknownCosts">): Usage {
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
  return { p50_ms: at(0.5), p90_ms: at(0.9), p95_ms: at(0.95), p99_ms: at(0.99) };
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

function toTime(hour: number): string {
  return new Date(hour * HOUR_MS).toISOString();
}

function compare(a: string | number, b: string | number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
