import type { RequestId, RunId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { RequestPhase, RunPhase } from "../protocol/answers/status.ts";

/** The data of a run for the list of runs. */
export interface RunRow {
  readonly agent: string;
  readonly status: RunPhase;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly turns: number;
  readonly initialInput: Json;
  readonly metadata: JsonObject;
}

/** A run's row as stored. */
export interface RunEntry extends RunRow {
  readonly runId: RunId;
  readonly head: number;
  /** True for a run that was removed; the rest of the row is then empty. */
  readonly removed?: boolean;
}

/** A name that a client gives to a run. Each agent has its own aliases. */
export interface RunAlias {
  readonly agent: string;
  readonly name: string;
}

/** Selects runs. */
export interface RunQuery {
  readonly agent?: string;
  readonly status?: RunPhase;
  /** Lists the least recently updated run first. */
  readonly oldestFirst?: boolean;
  /**
   * Lists the runs in the order of their first appends, without those whose agent is empty. Such a list has no cursor,
   * and a new run never appears before one that was listed.
   */
  readonly byCreation?: boolean;
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
  /** Leaves out so many runs at the start. Default 0. */
  readonly offset?: number;
  /** Also counts all runs that the query selects. Default false. */
  readonly total?: boolean;
}

/** A part of the list of runs. */
export interface RunPage {
  readonly runs: readonly RunEntry[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
  /** The number of selected runs, if it was asked for. */
  readonly total?: number;
}

/** A change of a request's entry. Absent fields stay unchanged. */
export interface RequestMark {
  readonly requestId: RequestId;
  readonly phase: RequestPhase;
  /** When the request was accepted, in milliseconds since 1970; only in its first mark. */
  readonly createdAt?: number;
  /** The record that accepted it; only in its first mark. */
  readonly accepted?: RecordPosition;
  /** The id of its RequestStarted. */
  readonly started?: number;
  /** The id of the event at which the current segment starts. */
  readonly segment?: number;
  /** The id of the newest event at completion: its RequestCompleted. */
  readonly completed?: number;
  /**
   * The wake time of a sleeping request, in milliseconds since 1970; 0 if it does not sleep. A completed
   * request never sleeps.
   */
  readonly wakeAt?: number;
}

/** The position of a record. */
export interface RecordPosition {
  readonly n: number;
  readonly after: number;
}

/** The entry of a request in the index. */
export interface RequestEntry {
  readonly requestId: RequestId;
  readonly runId: RunId;
  readonly phase: RequestPhase;
  readonly createdAt: number;
  readonly accepted: RecordPosition;
  readonly started?: number;
  readonly segment?: number;
  readonly completed?: number;
  /** The wake time; absent if it does not sleep. */
  readonly wakeAt?: number;
  /** True if the run was removed; then only the ids and the phase `completed` are set. */
  readonly removed?: boolean;
}

/** Selects sleeping requests. */
export interface SleepQuery {
  /** Only those with a wake time later than this, in milliseconds since 1970. */
  readonly after?: number;
  /** Only those with a wake time up to this. */
  readonly notAfter?: number;
  /** Maximum number; unlimited by default. */
  readonly limit?: number;
}

/**
 * Adds or drops a run's reference to something stored outside the log. The log counts references, so that
 * the thing can be removed when no run needs it.
 */
export interface ReferenceMark {
  readonly thing: string;
  /** True if the reference is dropped. */
  readonly dropped?: boolean;
}
