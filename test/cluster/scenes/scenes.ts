import { setTimeout } from "node:timers/promises";
import { createRandom } from "../../../src/testing/event-log/random.ts";
import type { Random } from "../../../src/testing/event-log/random.ts";
import type { Violation } from "../../faults/checks/verify-log.ts";
import { Engine } from "./cluster/engine.ts";
import { SceneCluster } from "./cluster/scene-cluster.ts";
import { engineFaults } from "./engine-faults.ts";
import { exchange } from "./exchange.ts";
import { fight } from "./fight.ts";
import { halfway } from "./halfway.ts";
import { lostEvents } from "./lost-events.ts";
import { nodeFaults } from "./node-faults.ts";
import type { SceneTable } from "./scene-table.ts";
import { schedule } from "./schedule.ts";
import { shards } from "./shards.ts";
import type { Scene } from "./scene.ts";

/** The scenes of a log in several databases alone. */
export const severalScenes: readonly Scene[] = shards;

/** All scenes of any log, in the order of the table. */
export const scenes: readonly Scene[] = [
  ...exchange,
  ...nodeFaults,
  ...engineFaults,
  fight,
  halfway,
  schedule,
  lostEvents,
];

/** The most time that a scene may take, for each node: some scenes restart one after the other. */
const SCENE_MS = 60_000;

/** The most time that scenes take, in milliseconds, with the start and the end of the cluster. */
export function longestOf(played: readonly Scene[], nodes = 3): number {
  return (played.length + 1) * SCENE_MS * nodes;
}

interface PlayOptions {
  readonly seed: number;
  /** About how many turns each scene has. */
  readonly turns: number;
  readonly table: SceneTable;
  /** How long a client rests between its turns, in milliseconds. Default 0. */
  readonly restMs?: number;
  /** The program of PgBouncer, to play over it. */
  readonly pooler?: string;
  /** In how many databases the log is. Default 1. */
  readonly databases?: number;
  /** How many nodes there are. Default 3. */
  readonly nodes?: number;
  /** Whether the nodes use gossip. Default: no, they are too few. */
  readonly gossips?: boolean;
}

/**
 * Plays scenes one after the other on a new database. A scene that fails or does not end is a violation, and the last one
 * there.
 */
export async function playScenes(
  played: readonly Scene[],
  { seed, turns, table, restMs = 0, pooler, databases = 1, nodes = 3, gossips = false }: PlayOptions,
): Promise<void> {
  const random = createRandom(seed);
  await using engine = await Engine.start(pooler);
  await using cluster = await SceneCluster.open(engine, seed, { databases, nodes, gossips });
  cluster.clients.restMs = restMs;
  const ordered = [
    ...played.filter((scene) => scene.losesEvents !== true),
    ...played.filter((scene) => scene.losesEvents),
  ];
  for (const scene of ordered) {
    const tooLate = setTimeout(SCENE_MS * nodes, undefined, { ref: false });
    const { wrong, isOver = true } = (await Promise.race([
      playOne(scene, cluster, random, turns),
      tooLate,
    ])) ?? { wrong: [`it has not ended: ${await cluster.describe()}`] };
    table.add(scene, { seed, wrong, ...cluster.takePause() });
    if (wrong.length > 0) cluster.keep();
    if (isOver) return;
  }
}

async function playOne(
  scene: Scene,
  cluster: SceneCluster,
  random: Random,
  turns: number,
): Promise<{ readonly wrong: readonly (Violation | string)[]; readonly isOver?: boolean }> {
  try {
    await cluster.restore();
    const wrong = await scene.play(cluster, random, turns);
    if (scene.losesEvents === true) cluster.forget();
    return { wrong: [...wrong, ...(await cluster.verify()), ...cluster.takeCrashes()], isOver: false };
  } catch (error) {
    return { wrong: [`it has failed: ${error instanceof Error ? error.stack : String(error)}`] };
  }
}
