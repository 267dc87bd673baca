/** What a turn costs, counted in the process of the server. */
export interface Counted {
  /** Batches that were committed. */
  readonly commits: number;
  readonly events: number;
  /** Messages to the thread that writes, and back; a commit of texts alone is no message to it. */
  readonly hops: number;
  /** The rows of all tables afterwards. */
  readonly rows?: number;
  /** Statements for PostgreSQL. */
  readonly statements: number;
  /** What PostgreSQL adds to its write-ahead log. */
  readonly walBytes?: number;
  /** All that the process has written: to its log, its connections and its threads. */
  readonly writtenBytes: number;
  /** The objects that were made on the main thread, also those that are gone; estimated from samples. */
  readonly allocatedBytes: number;
}

/**
 * What one chat may cost at most, on average: a little more than it does. Lower the numbers after a change that makes it cheaper.
 * A chat is named by how its texts are said, and by their number. With `steps` each is in the log before the next one, so each is
 * a commit of its own. With `fours` it waits for each fourth one, so that the commits are those of a busy server, but always the same.
 * With `gather` the agent waits for each as the default settings have it: these are a few commits, more of
 * them on a loaded machine, so the limits are far above. With `burst` it waits for none.
 */
export const limits: Readonly<Record<string, Readonly<Record<"sqlite" | "postgres", Counted>>>> = {
  "steps 2": {
    sqlite: {
      commits: 4,
      events: 4,
      hops: 6,
      rows: 8.1,
      statements: 0,
      writtenBytes: 102_000,
      allocatedBytes: 168_000,
    },
    postgres: {
      commits: 4,
      events: 4,
      hops: 0,
      rows: 5.1,
      statements: 5.5,
      walBytes: 5_300,
      writtenBytes: 4_100,
      allocatedBytes: 252_000,
    },
  },
  "steps 100": {
    sqlite: {
      commits: 102,
      events: 102,
      hops: 105,
      rows: 106.1,
      statements: 0,
      writtenBytes: 680_000,
      allocatedBytes: 1_230_000,
    },
    postgres: {
      commits: 102,
      events: 102,
      hops: 0,
      rows: 5.1,
      statements: 105,
      walBytes: 26_000,
      writtenBytes: 51_000,
      allocatedBytes: 2_700_000,
    },
  },
  "fours 100": {
    sqlite: {
      commits: 27,
      events: 102,
      hops: 30,
      rows: 31.1,
      statements: 0,
      writtenBytes: 260_000,
      allocatedBytes: 560_000,
    },
    postgres: {
      commits: 27,
      events: 102,
      hops: 0,
      rows: 5.1,
      statements: 30,
      walBytes: 12_000,
      writtenBytes: 36_000,
      allocatedBytes: 1_040_000,
    },
  },
  "gather 100": {
    sqlite: {
      commits: 40,
      events: 102,
      hops: 44,
      statements: 0,
      writtenBytes: 350_000,
      allocatedBytes: 700_000,
    },
    postgres: {
      commits: 40,
      events: 102,
      hops: 0,
      statements: 42,
      writtenBytes: 42_000,
      allocatedBytes: 1_200_000,
    },
  },
  "burst 100": {
    sqlite: {
      commits: 2,
      events: 102,
      hops: 4,
      rows: 6.1,
      statements: 0,
      writtenBytes: 124_000,
      allocatedBytes: 310_000,
    },
    postgres: {
      commits: 2,
      events: 102,
      hops: 0,
      rows: 5.2,
      statements: 3.5,
      writtenBytes: 30_000,
      allocatedBytes: 340_000,
    },
  },
};
