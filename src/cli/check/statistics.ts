import { HOUR_MS, NO_SUMS, STATISTICS_BY, addSums } from "../../ports/statistics.ts";
import type {
  StatisticsBy,
  StatisticsEntry,
  StatisticsGroup,
  StatisticsReader,
  StatisticsSums,
} from "../../ports/statistics.ts";
import type { LogReader } from "../../ports/event-log.ts";
import { openPlace } from "./places.ts";

/** Whether the statistics of a log can be right. */
export interface StatisticsCheck {
  /** How many rows of hours were summed up. */
  readonly rows: number;
  /** The newest turns of so many runs were looked for in them. */
  readonly runs: number;
  /** What is wrong, in a line each; the first hundred. */
  readonly faults: readonly string[];
}

/**
 * Compares the answers of the statistics of a log with the sums of its hours, which are counted with the ends of turns, and these hours
 * with the newest turn of each run. Those of removed runs stay counted, so the hours cannot be made of the runs again. The log is only read.
 */
export async function checkStatistics(place: string): Promise<StatisticsCheck> {
  const { log, statistics, close } = await openPlace(place);
  try {
    return statistics === undefined ? { rows: 0, runs: 0, faults: [] } : await look(log, statistics);
  } finally {
    await close();
  }
}

async function look(log: LogReader, statistics: StatisticsReader): Promise<StatisticsCheck> {
  const first = await statistics.since();
  if (first === undefined) return { rows: 0, runs: 0, faults: [] };
  // A server may be writing, and goes on counting in the hours that have just begun or ended.
  const until = Math.floor(Date.now() / HOUR_MS) - 1;
  const faults: string[] = [];
  const hours = new Hours();
  let rows = 0;
  for (let after: StatisticsEntry | undefined; ;) {
    const entries = await statistics.list({ limit: PAGE, ...(after && { after }) });
    after = entries.at(-1);
    if (after === undefined) break;
    for (const entry of entries) {
      if (entry.hour >= until) continue;
      hours.add(entry);
      rows += 1;
    }
  }
  for (const by of STATISTICS_BY) {
    const kept = toMap(await statistics.sum({ by, from: 0, until }));
    for (const [key, group] of hours.sums(by)) {
      const other = kept.get(key);
      kept.delete(key);
      if (isSame(group, other)) continue;
      faults.push(
        `by ${by}, ${toName(group)}: the sums have ${other?.count ?? 0}, and the hours ${group.count}`,
      );
    }
    for (const group of kept.values())
      faults.push(`by ${by}, ${toName(group)}: the sums have ${group.count}, and the hours none`);
  }
  let runs = 0;
  for (let cursor: string | undefined; ;) {
    const page = await log.list({ limit: PAGE, ...(cursor !== undefined && { cursor }) });
    for (const { runId, agent, lastTurn } of page.runs) {
      const endedAt = lastTurn?.ended_at === undefined ? undefined : Date.parse(lastTurn.ended_at);
      // In the first hour it began to be counted.
      if (endedAt === undefined || endedAt < (first + 1) * HOUR_MS || endedAt >= until * HOUR_MS) continue;
      runs += 1;
      const { finish_reason: reason = "success", error_code: code } = lastTurn ?? {};
      const outcome = code === undefined ? reason : `error:${code}`;
      if (hours.hasTurn(endedAt, agent, outcome)) continue;
      faults.push(
        `run ${runId}: the end of its newest turn (${agent}, ${outcome}) was not counted in its hour`,
      );
    }
    if (page.next === undefined) break;
    cursor = page.next;
  }
  return { rows, runs, faults: faults.slice(0, FAULTS_LIMIT) };
}

const PAGE = 1_000;
const FAULTS_LIMIT = 100;
/** An end is counted a moment after it has its time. */
const MOMENT_MS = 60_000;

/** The sums of hours, by all that statistics are grouped by. */
class Hours {
  readonly #sums = new Map(STATISTICS_BY.map((by) => [by, new Map<string, StatisticsGroup>()]));
  readonly #turns = new Set<string>();

  add(entry: StatisticsEntry): void {
    const { hour, agent, kind, outcome } = entry;
    if (kind === "turn") this.#turns.add(`${hour} ${agent} ${outcome}`);
    for (const [by, sums] of this.#sums) {
      const group = toGroup(by, entry);
      if (group === undefined) continue;
      const key = toKey(group);
      sums.set(key, { ...group, ...addSums(sums.get(key) ?? NO_SUMS, entry) });
    }
  }

  sums(by: StatisticsBy): ReadonlyMap<string, StatisticsGroup> {
    return this.#sums.get(by) ?? new Map<string, StatisticsGroup>();
  }

  hasTurn(endedAt: number, agent: string, outcome: string): boolean {
    return [endedAt, endedAt + MOMENT_MS].some((at) =>
      this.#turns.has(`${Math.floor(at / HOUR_MS)} ${agent} ${outcome}`),
    );
  }
}

type GroupKey = Omit<StatisticsGroup, keyof StatisticsSums>;

/** What an entry is grouped under; `undefined` if it is not. */
function toGroup(
  by: StatisticsBy,
  { hour, owner, agent, name, kind, outcome }: StatisticsEntry,
): GroupKey | undefined {
  switch (by) {
    case "agent":
      return { group: agent, agent: "", kind, outcome };
    case "model":
      return kind === "completion" ? { group: name, agent: "", kind, outcome } : undefined;
    case "operation":
      return kind === "turn" ? { group: name, agent, kind, outcome } : undefined;
    case "error":
      return kind === "turn" && outcome.startsWith("error:")
        ? { group: outcome, agent, kind, outcome }
        : undefined;
    case "owner":
      return { group: owner, agent: "", kind, outcome };
    case "hour":
      return { group: hour, agent: "", kind, outcome };
    case "day":
      return { group: hour - (hour % 24), agent: "", kind, outcome };
    default: {
      const never: never = by;
      return never;
    }
  }
}

function toMap(groups: readonly StatisticsGroup[]): Map<string, StatisticsGroup> {
  return new Map(groups.map((group) => [toKey(group), group]));
}

function toKey({ group, agent, kind, outcome }: GroupKey): string {
  return JSON.stringify([group, agent, kind, outcome]);
}

function toName({ group, agent, kind, outcome }: GroupKey): string {
  const what = typeof group === "number" ? new Date(group * HOUR_MS).toISOString() : group;
  return `${agent === "" ? what : `${agent} ${what}`} (${kind}, ${outcome})`;
}

/** Compares what all groups have; the order in which costs are added changes their last digits. */
function isSame(one: StatisticsSums, two: StatisticsSums | undefined): boolean {
  return (
    two !== undefined &&
    one.count === two.count &&
    one.ms === two.ms &&
    one.inputTokens === two.inputTokens &&
    one.cachedTokens === two.cachedTokens &&
    one.outputTokens === two.outputTokens &&
    one.reasoningTokens === two.reasoningTokens &&
    one.unknownCosts === two.unknownCosts &&
    Math.abs(one.cost - two.cost) <= 1e-6 * Math.max(1, Math.abs(one.cost)) &&
    // Only operations and models have them.
    (two.durations.every((count) => count === 0) ||
      one.durations.every((count, place) => count === two.durations[place]))
  );
}
