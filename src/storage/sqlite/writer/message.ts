import type { ReferenceMark } from "../../../ports/event-log.ts";
import type { Head } from "../format/head-file.ts";
import type { Durability } from "../format/schema.ts";

/** What the writer's thread is started with. */
export interface WriterData {
  readonly directory: string;
  readonly durability: Durability;
  readonly head: Head;
  /** An open descriptor of the database. */
  readonly file: number;
  /** One number that is raised, and notified, with every message to the writer. */
  readonly signal: Int32Array;
}

/** What the log asks of its writer. Every commit is answered by one reply, in order. */
export type ToWriter =
  | { readonly type: "commit"; readonly items: readonly Item[]; readonly bodies?: SharedArrayBuffer }
  | { readonly type: "remove"; readonly rid: number }
  | { readonly type: "close" };

/**
 * One append. The body, its events joined by line breaks, is not in it: the bodies of all items stand
 * one after the other in the memory that both threads share.
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

/** What an append changes beside adding to the run; with its JSON values already encoded. */
export interface Changes {
  readonly run?: RunChange;
  readonly requests?: readonly RequestChange[];
  readonly references?: readonly ReferenceMark[];
  readonly alias?: string;
  readonly snapshot?: string;
}

export interface RunChange {
  /** Given for a run that is new. */
  readonly runId?: string;
  readonly agent: string;
  readonly status: number;
  readonly created: number;
  readonly updated: number;
  readonly turns: number;
  /** Absent where it is as it was. */
  readonly metadata?: string;
  readonly initialInput?: string;
}

/** All marks of a request in one append, merged; `null` is for what stays as it was. */
export type RequestChange = readonly [
  requestId: string,
  /** Whether the request is known to be one of the run. */
  known: boolean,
  phase: number,
  created: number | null,
  acceptedN: number | null,
  acceptedAfter: number | null,
  started: number | null,
  segment: number | null,
  completed: number | null,
  /** 0 for one that does not sleep any more. */
  wake: number | null,
];

/** What the writer says. */
export type FromWriter =
  | { readonly type: "committed"; readonly refused?: readonly Refusal[] }
  | { readonly type: "failed"; readonly reason: string }
  | { readonly type: "recovered" }
  | { readonly type: "closed" };

/** An item that was left out of its commit, by its index, and why. */
export type Refusal = readonly [index: number, message: string];
