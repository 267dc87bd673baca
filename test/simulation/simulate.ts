import { createRandom } from "../../src/testing/event-log/random.ts";
import { toPicker } from "../laws/program.ts";
import { toTrace } from "./trace.ts";
import { Simulation } from "./simulation.ts";
import type { SimulationOptions } from "./simulation.ts";

/** The result of a seed. */
export interface Outcome {
  /** The violated invariants, with their place. */
  readonly faults: readonly string[];
  readonly turns: number;
  readonly commits: number;
  readonly steps: number;
  /** The number of faults that occurred. */
  readonly injectedFaults: number;
  /** Every step, line by line. */
  trace(): readonly string[];
}

/** Runs the simulation of a seed to its end. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Outcome> {
  const simulation = new Simulation(toPicker(createRandom(seed)), options);
  const { observer, scheduler, faultInjector } = simulation;
  await simulation.play();
  return {
    faults: observer.faults,
    turns: observer.requests.size,
    commits: faultInjector.commits,
    steps: scheduler.steps,
    injectedFaults: faultInjector.count,
    trace: () => [...toTrace(simulation), `it took ${scheduler.steps} steps`],
  };
}
