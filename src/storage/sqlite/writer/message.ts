import type { RunId } from "../../../protocol/ids.ts";
import type { Head } from "../format/head-file.ts";
import type { Durability } from "../format/schema.ts";
import type { AuditChange, Changes, SpentChange, StatisticsChange } from "../../sql/changes.ts";
import type { RemovedEntries } from "../../../ports/audit.ts";

/** The start data of the writer's thread. */
export interface WriterData {
  readonly directory: string;
  readonly durability: Durability;
  readonly head: Head;
  /** An open file descriptor of the database. */
  readonly file: number;
  /** Memory that both threads share; the indexes are in `SIGNAL` (commit-memory.ts). */
  readonly signal: Int32Array;
}

/** Messages to the writer. Commits of appends are in shared memory instead (`CommitMemory`). */
export type ToWriter =
  /** The memory in which the next commits are. */
  | { readonly type: "memory"; readonly memory: SharedArrayBuffer }
  | RunRemovals
  | AuditChanges
  | SpendingChanges
  | StatisticsChanges
  | HourSums
  | TextChanges
  /** Gets a reply of its own, `scrubbed`, beside those of commits. */
  | { readonly type: "scrub" }
  | { readonly type: "close" };

/** The removal of runs in one commit, as many of them as a commit has time for. */
export interface RunRemovals {
  readonly type: "remove";
  readonly runs: readonly RunRemoval[];
}

/** The removal of a run: of a claimed one, with `erases` also of what the audit trail has of it; or of one that is idle, as it was seen. */
export type RunRemoval =
  | { readonly type: "removal"; readonly rid: number; readonly erases: boolean; readonly seen?: undefined }
  | {
      readonly type: "removal";
      readonly seen: readonly [runId: RunId, head: number, updatedAt: number];
    };

/** Changes of the audit trail that no append makes. */
export interface AuditChanges {
  readonly type: "audit";
  readonly added?: readonly AddedEntry[];
  readonly removed?: RemovedEntries;
}

/** Changes of what was spent that no append makes: entries that are stored, or those of an owner that are removed. */
export interface SpendingChanges {
  readonly type: "spending";
  readonly put?: readonly SpentChange[];
  readonly removed?: string;
}

/** Changes of the statistics that no append makes: entries that are stored, or those of an owner that are removed. */
export interface StatisticsChanges {
  readonly type: "statistics";
  readonly put?: readonly StatisticsChange[];
  readonly removed?: string;
}

/** The next hours of the statistics are to be summed up. */
export interface HourSums {
  readonly type: "sums";
}

/**
 * The words of runs, and what is not due any more: all chunks up to `seq`, unless their runs have changed since, and the entries up to
 * `n` of those that are due.
 */
export interface TextChanges {
  readonly type: "texts";
  readonly texts: readonly (readonly [rid: number, words: string])[];
  readonly seq: number;
  readonly n: number;
}

/** An entry with its owner, the id of its run, and how many times it happened. */
export type AddedEntry = readonly [...AuditChange, owner: string, runId: RunId | null, times: number];

/**
 * One append without its body, as it is after a way through JSON. The bodies of all items (events joined by line breaks) are
 * concatenated in the memory that both threads share, after those of the small appends.
 */
export type AppendItem = readonly [
  rid: number,
  first: number,
  last: number,
  recordsEnd: number,
  bodyBytes: number,
  records: string | null,
  changes: KnownChanges | null,
];

/** The changes of an append, with what spares the writer a look into its tables. */
export interface KnownChanges extends Changes {
  /** The id of a new run. */
  readonly runId?: RunId;
  /** Whether the agent or the time of creation changes. */
  readonly isGiven?: boolean;
  /** Which of the requests are known to belong to the run. */
  readonly known?: readonly boolean[];
}

/** Messages from the writer. A commit that is `committed` with nothing to tell is a signal instead (`SIGNAL.replies`). */
export type FromWriter =
  /** The first message: the thread runs and accepts commits. */
  | { readonly type: "started" }
  | {
      readonly type: "committed";
      readonly refused?: readonly RefusedItem[];
      readonly chunked?: readonly ChunkedRun[];
      /** How many removals, the last ones, the commit had no time for. */
      readonly left?: number;
    }
  | { readonly type: "chunked"; readonly runs: readonly ChunkedRun[] }
  | { readonly type: "failed"; readonly reason: string }
  | { readonly type: "recovered" }
  /** The end of a scrub, with the reason if it was not possible. */
  | { readonly type: "scrubbed"; readonly reason?: string }
  | { readonly type: "closed" };

/** A run whose recent events are in chunks now, up to this one. */
export type ChunkedRun = readonly [rid: number, last: number];

/** The index of an item that was left out of its commit, and the reason. */
export type RefusedItem = readonly [index: number, message: string];
