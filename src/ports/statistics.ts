import type { RunId } from "../protocol/ids.ts";

/** What the turns, or the completions, of an hour that are equal in their key have done and used. */
export interface StatisticsKey {
  /** The hour in which they ended, counted from 1970, in UTC. */
  readonly hour: number;
  /** Whose they are; `REST` if the hour has too many. */
  readonly owner: string;
  readonly kind: StatisticsKind;
  readonly agent: string;
  /** The operation of turns, the model of completions; `REST` if the hour has too many. */
  readonly name: string;
  /** How they ended: `success`, `canceled`, or `error:` and the code. */
  readonly outcome: string;
}

/** An engine stores the place in the list. */
export const STATISTICS_KINDS = ["turn", "completion"] as const;

/** What is counted: turns, or what models were asked. */
export type StatisticsKind = (typeof STATISTICS_KINDS)[number];

/** The numbers of turns or completions. */
export interface StatisticsSums {
  readonly count: number;
  /** The time that they took together, in milliseconds; of turns with their waits. */
  readonly ms: number;
  /** How many took up to each of `DURATION_BOUNDS_MS`, and more than the one before; the last ones took longer than all. */
  readonly durations: readonly number[];
  readonly inputTokens: number;
  /** Those of the input tokens that were in the cache of the provider. */
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** Those of the output tokens that were reasoning. */
  readonly reasoningTokens: number;
  /** What they cost, as far as it is known. */
  readonly cost: number;
  /** How many have a cost that is not known. */
  readonly unknownCosts: number;
}

/** An hour of equal turns or completions. */
export interface StatisticsEntry extends StatisticsKey, StatisticsSums {
  /** One of the runs of those that failed. */
  readonly runId?: RunId;
}

/** What the answers are grouped by. */
export const STATISTICS_BY = ["agent", "model", "operation", "error", "owner", "hour", "day"] as const;

/** What statistics are grouped by. */
export type StatisticsBy = (typeof STATISTICS_BY)[number];

/** Selects what is summed up. */
export interface StatisticsQuery {
  readonly by: StatisticsBy;
  /** The first hour. */
  readonly from: number;
  /** The hour behind the last one. */
  readonly until: number;
  readonly owner?: string;
  readonly agent?: string;
}

/** The sums of a group: those that are equal in what it is grouped by, in their kind and in their outcome. */
export interface StatisticsGroup extends StatisticsSums {
  /** An hour as a number, and a day by its first hour. */
  readonly group: string | number;
  /** The agent of an operation or an error; otherwise empty. */
  readonly agent: string;
  readonly kind: StatisticsKind;
  readonly outcome: string;
}

/** Selects owners. */
export interface OwnersQuery extends Pick<StatisticsQuery, "from" | "until" | "agent"> {
  readonly limit: number;
}

/** The sums of the owners that have the most turns and completions. */
export interface OwnerSums {
  /** How many owners there are, with those that are not among them. */
  readonly count: number;
  /** By owner, kind and outcome, in no order. */
  readonly groups: readonly StatisticsGroup[];
}

/** A run that has a failed turn. */
export interface FailedRun extends Pick<StatisticsKey, "hour" | "agent" | "outcome"> {
  readonly runId: RunId;
}

/**
 * What turns and completions have done and used, by the hour, of the newest 400 days. An engine may keep sums of several hours, and makes them
 * in the background; an answer is the same without them. What is about a run is in the batch that has its
 * ends (`Batch.statistics`), and stays when the run is removed.
 */
export interface Statistics {
  /** The first hour of which something is known. */
  since(): Promise<number | undefined>;
  /** Sums up, by kind and outcome, in no order. */
  sum(query: StatisticsQuery): Promise<readonly StatisticsGroup[]>;
  /** Sums up some owners, those with the most turns and completions, and of equals those that come first by name. */
  owners(query: OwnersQuery): Promise<OwnerSums>;
  /** Lists runs with turns that failed, those of the newest hour first: one for each hour, agent, operation and code. */
  failed(query: Omit<StatisticsQuery, "by"> & { readonly limit: number }): Promise<readonly FailedRun[]>;
  /** Lists all entries, in the order of their keys, behind the one with a key. */
  list(query: {
    readonly after?: StatisticsKey;
    readonly limit: number;
  }): Promise<readonly StatisticsEntry[]>;
  /** Stores the entries of another log in the place of those that are there. */
  put(entries: readonly StatisticsEntry[]): Promise<void>;
  /** Removes what is known of an owner. */
  remove(owner: string): Promise<void>;
}

/** The questions to statistics. */
export type StatisticsReader = Pick<Statistics, "since" | "sum" | "owners" | "failed" | "list">;

/** The bounds of the times, in milliseconds. */
export const DURATION_BOUNDS_MS: readonly number[] = [
  10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 60_000, 300_000, 3_600_000,
];

/** The owner and the name of what is not counted by itself. No owner has it: a name has no space. */
export const REST = "all others";

export const HOUR_MS = 3_600_000;

/** For how many hours it is known what turns have done. */
export const STATISTICS_HOURS: number = 400 * 24;

/**
 * Of the hours before this one an engine has sums. Those of the newest two are still counted: clocks of nodes differ, and a commit takes
 * its time.
 */
export function summedUntil(newestHour: number): number {
  return newestHour - 1;
}

/** The numbers of one turn or completion that took so many milliseconds. */
export function countOne(ms: number): StatisticsSums {
  const at = DURATION_BOUNDS_MS.findIndex((bound) => ms <= bound);
  const place = at === -1 ? DURATION_BOUNDS_MS.length : at;
  return {
    ...NO_SUMS,
    count: 1,
    ms: Math.round(ms),
    durations: NO_SUMS.durations.map((_, index) => (index === place ? 1 : 0)),
  };
}

/** The sums of two. */
export function addSums(one: StatisticsSums, two: StatisticsSums): StatisticsSums {
  return {
    count: one.count + two.count,
    ms: one.ms + two.ms,
    durations: one.durations.map((count, index) => count + (two.durations[index] ?? 0)),
    inputTokens: one.inputTokens + two.inputTokens,
    cachedTokens: one.cachedTokens + two.cachedTokens,
    outputTokens: one.outputTokens + two.outputTokens,
    reasoningTokens: one.reasoningTokens + two.reasoningTokens,
    cost: one.cost + two.cost,
    unknownCosts: one.unknownCosts + two.unknownCosts,
  };
}

export const NO_SUMS: StatisticsSums = {
  count: 0,
  ms: 0,
  durations: Array.from({ length: DURATION_BOUNDS_MS.length + 1 }, () => 0),
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cost: 0,
  unknownCosts: 0,
};
