import type { Changes } from "./message.ts";

/** Something to be committed: an append, or else the removal of its run. */
export interface Job {
  readonly rid: number;
  readonly append?: Append;
  /** Called once: without an error when it is in the log. */
  settle(error?: Error): void;
}

/** An append as the writer takes it. */
export interface Append {
  readonly position: readonly [first: number, last: number, recordsEnd: number];
  /** The events, joined by line breaks. */
  readonly body: string;
  /** The records as JSON. */
  readonly records: string | null;
  readonly changes: Changes | null;
}

/** An append that adds nothing. */
export const NOTHING: Append = { position: [1, 0, 0], body: "", records: null, changes: null };

/** How many of the jobs at the front go into one commit: appends only, up to a bound, and at least one. */
export function countForCommit(jobs: readonly Job[]): number {
  let events = 0;
  let characters = 0;
  for (const [index, { append }] of jobs.entries()) {
    if (append === undefined) return index;
    events += append.position[1] - append.position[0] + 1;
    characters += append.body.length;
    if (index > 0 && (events > COMMIT_EVENTS || characters > COMMIT_CHARACTERS)) return index;
  }
  return jobs.length;
}

/** Bounds of a commit, so that what comes next never waits long. */
const COMMIT_EVENTS = 1_000;
const COMMIT_CHARACTERS = 1024 * 1024;
