import type { RequestPhase, RunPhase } from "../protocol/answers/status.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";

/** When a claim is refused. */
export interface ClaimOptions {
  /** The claim fails with `Owned` if one of these nodes owns the run. */
  readonly unlessOwnedBy?: readonly string[];
  /**
   * The caller has just made the id of the run, so no other node knows it. An engine may then write the claim in the commit of the first
   * append. Until that commit another claim of the run succeeds; after such a claim the first append fails with `Fenced`.
   */
  readonly isNew?: boolean;
}

/** Selects by the nodes that own runs. */
export interface OwnerQuery {
  /** Leaves out the runs that one of these nodes owns. */
  readonly notOwnedBy?: readonly string[];
}

/** Selects requests of a run. */
export interface RequestQuery {
  readonly runId: RunId;
  readonly limit: number;
  /** Lists the request that was accepted first first. */
  readonly oldestFirst?: boolean;
  /** Only those behind this one in the list. */
  readonly after?: RequestId;
  /** Also lists those of a removed run. Default false. */
  readonly removed?: boolean;
}

/** Selects requests of all runs. */
export interface RequestListQuery {
  /** Only those of this owner. */
  readonly owner?: string;
  /** Only those in runs of this agent. */
  readonly agent?: string;
  readonly runId?: RunId;
  readonly phase?: RequestPhase;
  /** Only those in runs that were updated at this time or later, in milliseconds since 1970. */
  readonly updatedAfter?: number;
  /** Only those in runs that were created before this time. The page can be short or empty and still have a next one. */
  readonly createdBefore?: number;
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
}

/** Selects ids of runs. */
export interface RunIdQuery {
  /** Lists the removed runs in place of the others. */
  readonly removed?: boolean;
  /** Only those behind this one in the list. */
  readonly after?: RunId;
  readonly limit: number;
}

/** Selects sleeping requests, or schedules that are due. */
export interface WakeQuery extends OwnerQuery {
  /** Only those with a time later than this, in milliseconds since 1970. */
  readonly after?: number;
  /** Only those with a time up to this. */
  readonly notAfter?: number;
  /** Maximum number; unlimited by default. */
  readonly limit?: number;
}

/** Selects requests that are parked on asks. */
export interface ParkedQuery {
  /** Only those in the runs that follow this one in the list. */
  readonly after?: RunId | undefined;
  readonly limit: number;
}

/** Selects open waits. */
export interface WaitEntryQuery {
  /** Only those in runs of this owner. */
  readonly owner?: string;
  /** Only those in runs of this agent. */
  readonly agent?: string;
  readonly runId?: RunId;
  readonly requestId?: RequestId;
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
  /** Also counts the waits that the query selects, from the start of the list up to this number. Default: does not count. */
  readonly total?: number;
}

/** Selects entries of outboxes. */
export interface OutboxQuery extends OwnerQuery {
  /** Only dead letters. Default: only what is to be sent. */
  readonly kind?: "dead";
  /** Only those of one run. */
  readonly runId?: RunId;
  /**
   * Only so many, the newest first: those of the run that was changed last, and of a run those of the last events. Default: all,
   * and of a run those of the first events first.
   */
  readonly newest?: number;
}

/** Selects schedules. */
export interface ScheduleQuery {
  /** Only those of this owner. */
  readonly owner?: string;
  /** Only those in runs of this agent. */
  readonly agent?: string;
  readonly runId?: RunId;
  /** Only the one of the run with this id. */
  readonly id?: string;
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
  /** Also counts all schedules that the query selects. Default false. */
  readonly total?: boolean;
}

/** Selects a part of a run's log. */
export interface ReadOptions {
  /** Events with a greater id. */
  readonly after: number;
  /** Maximum number of events; unlimited by default. */
  readonly limit?: number;
  /**
   * Stops after this many bytes of encoded events, but returns at least one event. An engine that reads records from a disk
   * counts their bytes too, and may end a page between two records.
   */
  readonly limitBytes?: number;
  /** Also returns the records from `after` to the last event of the page, both included. Default false. */
  readonly records?: boolean;
  /** Leaves out the records up to this number. Default 0. */
  readonly afterRecord?: number;
  /** It is one of several reads at once: an engine may wait for the others, to answer them together. Default false. */
  readonly batched?: boolean;
}

/** Selects runs. */
export interface RunEntryQuery {
  /** Only those of this owner. */
  readonly owner?: string;
  readonly agent?: string;
  readonly status?: RunPhase;
  /** Only those whose newest turn has failed. Default false. */
  readonly failed?: boolean;
  /**
   * Only those that have each word of this text: it begins a word of the first input, the newest output or error, a value of
   * the metadata, the key, or the id of the run or of its newest request. Such a list has no total and no offset. Its page can
   * be short or empty and still have a next one.
   */
  readonly text?: string;
  /**
   * The caller wants only runs with these values in their metadata, as people write them: an engine may leave out others. Only for a list
   * without a text, without an offset and not by creation. Its page can be short or empty and still have a next one.
   */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Lists the least recently updated run first. */
  readonly oldestFirst?: boolean;
  /**
   * Lists the runs in the order of their first appends, without those whose agent is empty. Such a list has no cursor,
   * and a new run never appears before one that was listed. In a log in several databases the runs of two of them are in the
   * order of the times at which they were created.
   */
  readonly byCreation?: boolean;
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
  /** Leaves out so many runs at the start. Default 0. */
  readonly offset?: number;
  /** Also counts the runs that the query selects: all of them, or up to a number. Default false. */
  readonly total?: boolean | number;
}
