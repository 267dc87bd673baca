import type { Changes } from "./message.ts";

/** A unit of work to commit: an append, or the removal of its run. */
export interface Job {
  readonly rid: number;
  readonly append: Append | undefined;
  /** Called once; without an error if it was committed. */
  settle(error?: Error): void;
}

/** An encoded append. */
export interface Append {
  readonly position: readonly [first: number, last: number, recordsEnd: number];
  /** The events, joined by line breaks. */
  readonly body: string;
  /** The records as JSON. */
  readonly records: string | null;
  readonly changes: Changes | null;
  /** Whether it shares a row with appends of other runs. */
  readonly isRecent: boolean;
  /** The bytes of the body, known when it is sent to the writer. */
  bytes: number;
}

/** An empty append. */
export const NOTHING: Append = {
  position: [1, 0, 0],
  body: "",
  records: null,
  changes: null,
  isRecent: false,
  bytes: 0,
};

/**
 * The number of jobs at the front that go into one commit: only appends, up to a limit, and at least one job.
 */
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

/** Limits of a commit, so that the next jobs never wait long. */
const COMMIT_EVENTS = 1_000;
const COMMIT_CHARACTERS = 1024 * 1024;
