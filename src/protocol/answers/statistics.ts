import type { Usage } from "../events/outcome-codes.ts";
import type { RunId } from "../ids.ts";

/** What turns and completions have done and used in a time, in groups. */
export interface StatisticsAnswer {
  readonly by: string;
  /** The first hour of which something is known, as a time; absent if nothing is. */
  readonly since?: string;
  /** The time that is summed up: from the start of an hour to the start of another one. */
  readonly from: string;
  readonly until: string;
  /** Of all groups; of errors, of the turns that failed. */
  readonly total: StatisticsRow;
  /** At most 1,000; those with the most turns and completions first, but hours and days by their time. */
  readonly rows: readonly StatisticsRow[];
  /** The number of groups, if there are more. */
  readonly groups?: number;
}

/** The sums of a group. */
export interface StatisticsRow {
  /** The agent, model, operation, error code or owner; of an hour or a day its start. */
  readonly name: string;
  /** The agent of an operation or an error. */
  readonly agent?: string;
  /** Turns that ended. */
  readonly turns: {
    readonly success: number;
    readonly error: number;
    readonly canceled: number;
    /** The time of all of them with their waits, in milliseconds. */
    readonly ms: number;
  };
  /** The turns that failed, by their codes. */
  readonly errors?: { readonly [code: string]: number };
  readonly completions: {
    readonly success: number;
    readonly error: number;
    readonly canceled: number;
    readonly ms: number;
  };
  /** What the completions have used; their cost as far as it is known. */
  readonly usage: Usage;
  /** Completions whose cost is not known: their models have no price, or an attempt was interrupted. */
  readonly unknown_costs: number;
  /** Of operations and models: how long turns or completions took. */
  readonly latency?: StatisticsLatency;
  /** Of errors: runs with such a turn, those of the newest hour first, at most 10. */
  readonly run_ids?: readonly RunId[];
}

/**
 * Times in milliseconds: half of them took at most the first one, and so on. They are estimated, as if those between two of the bounds
 * that are counted were spread evenly.
 */
export interface StatisticsLatency {
  readonly p50_ms: number;
  readonly p90_ms: number;
  readonly p95_ms: number;
  readonly p99_ms: number;
}
