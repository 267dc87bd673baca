import type { Durability } from "./format/schema.ts";

/** How a log on disk behaves. */
export interface SqliteLogOptions {
  /**
   * `full`, the default, syncs every commit to the disk before it is acknowledged. `relaxed` leaves that
   * to the system: a crash of the process loses nothing, a loss of power may lose the last seconds.
   */
  readonly durability?: Durability;
  /** Opens a log that has lost some of what it had acknowledged, with what is left. Default false. */
  readonly acceptLoss?: boolean;
  /** The shortest time between two commits. More gathers in each, and each event comes later. Default 0. */
  readonly commitIntervalMs?: number;
  /** How much of the newest events is held in memory for live readers, over all runs. Default 16 MiB. */
  readonly cacheBytes?: number;
}
