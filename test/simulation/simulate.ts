import { createRandom } from "../../src/testing/event-log/random.ts";
import { toPicker } from "../laws/program.ts";
import type { Lie } from "./disk.ts";
import { toStory } from "./story.ts";
import { World } from "./world.ts";

/** The result of a seed. */
export interface Outcome {
  /** The violated invariants, with their place. */
  readonly faults: readonly string[];
  readonly turns: number;
  readonly commits: number;
  readonly steps: number;
  /** The number of faults that occurred. */
  readonly mishaps: number;
  /** Every step, line by line. */
  story(): readonly string[];
}

/** Runs the simulation of a seed to its end. */
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
