import type { Random } from "../../../src/testing/event-log/random.ts";
import type { SceneCluster } from "./cluster/scene-cluster.ts";

/** A fault of a cluster, or a way to use it. All invariants are checked after it. */
export interface Scene {
  readonly name: string;
  /** The longest pause of an open turn that a client should see, in milliseconds. */
  readonly goalMs?: number;
  /** It loses events of the log on purpose, so it is the last one, and what the log had before is no longer expected. */
  readonly losesEvents?: boolean;
  /** Plays it with about this number of turns. Resolves with what is wrong besides the invariants. */
  play(cluster: SceneCluster, random: Random, turns: number): Promise<readonly string[]>;
}
