import type { ScheduleSummary } from "../protocol/answers/schedule.ts";
import type { TopicSummary } from "../protocol/answers/topic.ts";
import type { RunId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { FinishReason } from "../protocol/events/outcome-codes.ts";
import type { RequestPhase, RunPhase, RunRequest, RunSummary } from "../protocol/answers/status.ts";

/** A run with the metadata that it was created with. */
export interface RunDetails extends RunSummary {
  readonly metadata: JsonObject;
}

/** Selects runs. */
export interface RunsQuery {
  /** Only those of this owner; for a caller that sees those of all owners. */
  readonly owner?: string;
  readonly agent?: string;
  readonly status?: RunPhase;
  /** How the newest turn ended. */
  readonly finishReason?: FinishReason;
  /**
   * Only runs that have each word of this text: it begins a word of the first input, the newest output or error, a value of the
   * metadata, the key, or the id of the run or of its newest request.
   */
  readonly text?: string;
  /** The code of the error with which the newest turn ended. */
  readonly errorCode?: string;
  /** Only runs that were updated at this time or later, in milliseconds since 1970. */
  readonly updatedAfter?: number;
  /** Only runs that were created with these values in their metadata. */
  readonly metadata?: Readonly<Record<string, string>>;
  /**
   * `created` lists the oldest run first, `oldest` the least recently updated one. Default `updated`: the most recently updated
   * first.
   */
  readonly order?: "updated" | "oldest" | "created";
  readonly limit: number;
  /** The `next` of the previous page; only for the order `updated`. */
  readonly cursor?: string;
  /** Leaves out so many runs at the start. Default 0. */
  readonly offset?: number;
  /** Also counts the runs of a list without a search: up to 10,000 of them, or `all`, which reads each of them. Default false. */
  readonly total?: boolean | "all";
}

/** A request in the list of the requests of all runs. */
export interface ListedRequest extends RunRequest {
  readonly agent: string;
  readonly run_id: RunId;
}

/** Selects requests. */
export interface RequestsQuery {
  /** Only those of this owner; for a caller that sees those of all owners. */
  readonly owner?: string;
  /** Only those in runs of this agent. */
  readonly agent?: string;
  readonly runId?: RunId;
  readonly status?: RequestPhase;
  /** Only those that were accepted at this time or later, in milliseconds since 1970. */
  readonly since?: number;
  /** Only those that were accepted before this time. */
  readonly until?: number;
  /** Only those in runs that were updated at this time or later. */
  readonly updatedAfter?: number;
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
}

/** A part of the list of requests. */
export interface RequestsPage {
  readonly requests: readonly ListedRequest[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
}

/** How the list of runs is followed. */
export interface WatchRunsOptions {
  /** Only the rows of this owner; for a caller that sees those of all owners. */
  readonly owner?: string;
  /** Only the rows of this agent. */
  readonly agent?: string;
  /** How many rows it begins with. */
  readonly limit: number;
  /** The shortest time between two reads of a row that changes. Default 250, which is also the least. */
  readonly intervalMs?: number;
  /**
   * The items have only `run_id`. For a caller that sees all runs no row is read then, so there are also ids of runs that the
   * server keeps for itself, and of removed ones. Default false.
   */
  readonly idsOnly?: boolean;
  readonly signal?: AbortSignal;
}

/** Selects open waits. */
export interface WaitsQuery {
  /** Only those of this owner; for a caller that sees those of all owners. */
  readonly owner?: string;
  /** Only those in runs of this agent. */
  readonly agent?: string;
  readonly runId?: RunId;
  /** Only those that this agent asks: it can be called in a run of another one. */
  readonly askedBy?: string;
  /** Only those that a principal with this role may answer. */
  readonly approver?: string;
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
  /** Also counts the waits of a list without `askedBy` and `approver`: up to 10,000 of them, or `all`. Default false. */
  readonly total?: boolean | "all";
}

/** A part of the list of open waits. */
export interface WaitsPage {
  /** Encoded WaitForInput events; at most 1 MiB, but at least one, unless few of many fit `askedBy` and `approver`. */
  readonly events: readonly string[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
  /** The number of waits of the list, if it was asked for. */
  readonly total?: number;
  /** Whether counting has stopped at that number: the list has more waits. */
  readonly isTotalCut?: true;
}

/** A part of a list of runs. */
export interface RunsPage {
  readonly runs: readonly RunDetails[];
  /** The cursor of the next page; absent on the last page, and for the order `created`. */
  readonly next?: string;
  /** The number of runs of the list, if it was asked for. */
  readonly total?: number;
  /** Whether counting has stopped at that number: the list has more runs. */
  readonly isTotalCut?: true;
}

/** Selects schedules. */
export interface SchedulesQuery {
  /** Only those of this owner; for a caller that sees those of all owners. */
  readonly owner?: string;
  /** Only those of actors of this agent. */
  readonly agent?: string;
  /** Only those of the actor of the agent with this key. */
  readonly key?: string;
  readonly runId?: RunId;
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
}

/** A part of a list of schedules. */
export interface SchedulesPage {
  readonly schedules: readonly ScheduleSummary[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
}

/** Selects topics. */
export interface TopicsQuery {
  /** Only those of this owner; for a caller that sees those of all owners. */
  readonly owner?: string;
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
}

/** A part of the list of topics. */
export interface TopicsPage {
  readonly topics: readonly TopicSummary[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
}
