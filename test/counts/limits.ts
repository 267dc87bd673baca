/** What a turn costs, counted in the process of the server. */
export interface Counted {
  /** Batches that were committed. */
  readonly commits: number;
  readonly events: number;
  /** Messages to the thread that writes, and back. */
  readonly hops: number;
  /** The rows of all tables afterwards. */
  readonly rows?: number;
  /** Statements for PostgreSQL. */
  readonly statements: number;
  /** All that the process has written: to its log, its connections and its threads. */
  readonly writtenBytes: number;
  /** The objects that were made on the main thread, also those that are gone; estimated from samples. */
  readonly allocatedBytes: number;
}

/**
 * What one chat may cost at most, on average: a little more than it does. Lower the numbers after a change that makes it cheaper.
 * A chat is named by how its texts are said, and by their number. With `steps` each is in the log before the next one, so each is
 * a commit of its own. With `gather` the agent waits for each as the default settings have it: these are a few commits, more of
 * them on a loaded machine, so the limits are far above. With `burst` it waits for none.
 */
export const limits: Readonly<Record<string, Readonly<Record<"sqlite" | "postgres", Counted>>>> = {
  "steps 2": {
    sqlite: {
      commits: 4,
      events: 4,
      hops: 8,
      rows: 11,
      statements: 0,
      writtenBytes: 127_000,
      allocatedBytes: 180_000,
    },
    postgres: {
      commits: 4,
      events: 4,
      hops: 0,
      rows: 8,
      statements: 6,
      writtenBytes: 4_800,
      allocatedBytes: 280_000,
    },
  },
  "steps 100": {
    sqlite: {
      commits: 102,
      events: 102,
      hops: 204,
      rows: 110,
      statements: 0,
      writtenBytes: 1_200_000,
      allocatedBytes: 1_450_000,
    },
    postgres: {
      commits: 102,
      events: 102,
      hops: 0,
      rows: 106,
      statements: 106,
      writtenBytes: 60_000,
      allocatedBytes: 2_950_000,
    },
  },
  "gather 100": {
    sqlite: {
      commits: 40,
      events: 102,
      hops: 80,
      statements: 0,
      writtenBytes: 450_000,
      allocatedBytes: 700_000,
    },
    postgres: {
      commits: 40,
      events: 102,
      hops: 0,
      statements: 44,
      writtenBytes: 42_000,
      allocatedBytes: 1_200_000,
    },
  },
  "burst 100": {
    sqlite: {
      commits: 2,
      events: 102,
      hops: 4,
      rows: 7,
      statements: 0,
      writtenBytes: 140_000,
      allocatedBytes: 350_000,
    },
    postgres: {
      commits: 2,
      events: 102,
      hops: 0,
      rows: 6,
      statements: 4,
      writtenBytes: 32_000,
      allocatedBytes: 400_000,
    },
  },
};
