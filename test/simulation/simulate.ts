import { createRandom } from "../../src/testing/event-log/random.ts";
import { toPicker } from "../laws/program.ts";
import type { Lie } from "./disk.ts";
import { toStory } from "./story.ts";
import { World } from "./world.ts";

/** What came of a seed. */
export interface Outcome {
  /** Every promise that was broken, and where. */
  readonly faults: readonly string[];
  readonly turns: number;
  readonly commits: number;
  readonly steps: number;
  /** How many faults befell it. */
  readonly mishaps: number;
  /** All that there is to tell of it, line by line. */
  story(): readonly string[];
}

/** Plays the world that a seed makes up, to its end. */
export async function simulate(seed: number, lie?: Lie): Promise<Outcome> {
  const world = new World(toPicker(createRandom(seed)), lie);
  const { witness, scheduler, mishaps } = world;
  await world.play();
  return {
    faults: witness.faults,
    turns: witness.requests.size,
    commits: mishaps.commits,
    steps: scheduler.steps,
    mishaps: mishaps.count,
    story: () => [...toStory(world), `it took ${scheduler.steps} steps`],
  };
}
