/** What a turn costs, counted in the process of the server. */
export interface Counted {
  /** Batches that were committed. */
  readonly commits: number;
  readonly events: number;
  /** Messages to the thread that writes, and back: each is copied twice. A commit is none. */
  readonly messages: number;
  /** How often the thread that writes is woken, and wakes the main thread. */
  readonly wakes: number;
  /** The bytes that are copied for the thread that writes. */
  readonly sharedBytes: number;
  /** Values that the main thread encodes as JSON: for the log, for readers, to keep them. */
  readonly encodings: number;
  /** The rows of all tables afterwards. */
  readonly rows?: number;
  /** Statements for PostgreSQL. */
  readonly statements: number;
  /** What PostgreSQL adds to its write-ahead log. */
  readonly walBytes?: number;
  /** All that the process has written: to its log, its connections and its threads. */
  readonly writtenBytes: number;
  /** The objects that were made on the main thread, also those that are gone; estimated from samples, so its limits are 5 % above. */
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
      messages: 0.2,
      wakes: 8,
      sharedBytes: 1_880,
      encodings: 22,
      rows: 8.2,
      statements: 0,
      writtenBytes: 105_000,
      allocatedBytes: 175_000,
    },
    postgres: {
      commits: 4,
      events: 4,
      messages: 0,
      wakes: 0,
      sharedBytes: 0,
      encodings: 22,
      rows: 6.1,
      statements: 4.5,
      walBytes: 5_250,
      writtenBytes: 4_000,
      allocatedBytes: 240_000,
    },
  },
  "steps 100": {
    sqlite: {
      commits: 102,
      events: 102,
      messages: 0.2,
      wakes: 204,
      sharedBytes: 11_850,
      encodings: 325,
      rows: 106.3,
      statements: 0,
      writtenBytes: 680_000,
      allocatedBytes: 1_320_000,
    },
    postgres: {
      commits: 102,
      events: 102,
      messages: 0,
      wakes: 0,
      sharedBytes: 0,
      encodings: 420,
      rows: 6.1,
      statements: 103,
      walBytes: 25_000,
      writtenBytes: 48_000,
      allocatedBytes: 2_800_000,
    },
  },
  "fours 100": {
    sqlite: {
      commits: 27,
      events: 102,
      messages: 0.2,
      wakes: 54,
      sharedBytes: 6_050,
      encodings: 172,
      rows: 31.2,
      statements: 0,
      writtenBytes: 260_000,
      allocatedBytes: 570_000,
    },
    postgres: {
      commits: 27,
      events: 102,
      messages: 0,
      wakes: 0,
      sharedBytes: 0,
      encodings: 192,
      rows: 6.1,
      statements: 27.5,
      walBytes: 11_700,
      writtenBytes: 35_000,
      allocatedBytes: 1_070_000,
    },
  },
  "gather 100": {
    sqlite: {
      commits: 40,
      events: 102,
      messages: 0.2,
      wakes: 80,
      sharedBytes: 7_500,
      encodings: 240,
      statements: 0,
      writtenBytes: 350_000,
      allocatedBytes: 700_000,
    },
    postgres: {
      commits: 40,
      events: 102,
      messages: 0,
      wakes: 0,
      sharedBytes: 0,
      encodings: 300,
      statements: 40.5,
      writtenBytes: 42_000,
      allocatedBytes: 1_200_000,
    },
  },
  "burst 100": {
    sqlite: {
      commits: 2,
      events: 102,
      messages: 0.2,
      wakes: 4,
      sharedBytes: 4_120,
      encodings: 121,
      rows: 6.2,
      statements: 0,
      writtenBytes: 124_000,
      allocatedBytes: 320_000,
    },
    postgres: {
      commits: 2,
      events: 102,
      messages: 0,
      wakes: 0,
      sharedBytes: 0,
      encodings: 121,
      rows: 6.2,
      statements: 2.5,
      writtenBytes: 30_000,
      allocatedBytes: 345_000,
    },
  },
};
