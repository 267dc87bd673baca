import type { Durability } from "./format/schema.ts";

/** What `sqliteLog` takes. */
export interface SqliteLogOptions {
  /**
   * `full`, the default, syncs every commit to the disk before it is acknowledged. `relaxed` lets the system
   * sync later: a crash of the process loses nothing, a power failure can lose the last seconds.
   */
  readonly durability?: Durability;
  /** Opens a log that has lost acknowledged data, with the data that is left. Default false. */
  readonly acceptLoss?: boolean;
  /**
   * The minimum time between two commits. A higher value makes larger commits and delays each event. Default
   * 0.
   */
  readonly commitIntervalMs?: number;
  /** The memory for the newest events of all runs, for live readers. Default 16 MiB. */
  readonly cacheBytes?: number;
}
