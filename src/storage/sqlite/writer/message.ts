import type { OutboxMark, ReferenceMark, NewAlias, WaitMark } from "../../../ports/log-batch.ts";
import type { Head } from "../format/head-file.ts";
import type { RecentParts } from "./recent-events.ts";
import type { Durability } from "../format/schema.ts";
import type { EncodedMark } from "../../sql/rows.ts";

/** The start data of the writer's thread. */
export interface WriterData {
  readonly directory: string;
  readonly durability: Durability;
  readonly head: Head;
  /** An open file descriptor of the database. */
  readonly file: number;
  /** A counter that is incremented and notified with every message to the writer. */
  readonly signal: Int32Array;
}

/** Messages to the writer. Every commit gets one reply, in order. */
export type ToWriter =
  | {
      readonly type: "commit";
      readonly recent: RecentParts;
      readonly items: readonly Item[];
      readonly bodies?: SharedArrayBuffer;
    }
  | { readonly type: "remove"; readonly rid: number }
  | { readonly type: "close" };

/**
 * One append without its body. The bodies of all items (events joined by line breaks) are concatenated in the
 * memory that both threads share, after those of the small appends.
 */
export type Item = readonly [
  rid: number,
  first: number,
  last: number,
  recordsEnd: number,
  bodyBytes: number,
  records: string | null,
  changes: Changes | null,
];

/** The changes of an append besides new entries; JSON values are already encoded. */
export interface Changes {
  readonly run?: RunChange;
  readonly requests?: readonly RequestChange[];
  readonly references?: readonly ReferenceMark[];
  readonly waits?: readonly WaitMark[];
  readonly outbox?: readonly OutboxMark[];
  readonly alias?: NewAlias;
  readonly snapshot?: string;
}

export interface RunChange {
  /** Only for a new run. */
  readonly runId?: string;
  readonly status: number;
  readonly updated: number;
  readonly turns: number;
  readonly started: string | null;
  /** The rest is absent if unchanged. */
  readonly owner?: { readonly agent: string; readonly created: number };
  readonly metadata?: string;
  readonly initialInput?: string;
  readonly lastTurn?: string;
  readonly usage?: string;
}

/** All marks of a request in one append, merged; `null` means unchanged. */
export type RequestChange = readonly [
  requestId: string,
  /** Whether the request is known to belong to the run. */
  known: boolean,
  phase: number,
  ...mark: EncodedMark,
];

/** Messages from the writer. */
export type FromWriter =
  /** The first message: the thread runs and accepts commits. */
  | { readonly type: "started" }
  | {
      readonly type: "committed";
      readonly refused?: readonly Refusal[];
      readonly chunked?: readonly Chunked[];
    }
  | { readonly type: "chunked"; readonly runs: readonly Chunked[] }
  | { readonly type: "failed"; readonly reason: string }
  | { readonly type: "recovered" }
  | { readonly type: "closed" };

/** A run whose recent events are in chunks now, up to this one. */
export type Chunked = readonly [rid: number, last: number];

/** The index of an item that was left out of its commit, and the reason. */
export type Refusal = readonly [index: number, message: string];
