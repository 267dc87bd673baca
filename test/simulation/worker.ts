import { setImmediate } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { simulate } from "./simulate.ts";
import type { SimulationOptions } from "./simulation.ts";

/** The task of a worker. */
export interface Work {
  readonly from: number;
  readonly count: number;
}

/** The results of a task. */
export interface Done {
  readonly seeds: number;
  readonly turns: number;
  readonly commits: number;
  readonly steps: number;
  readonly injectedFaults: number;
  /** The violations by seed. */
  readonly failures: readonly (readonly [seed: number, fault: string])[];
}

// Many errors only mean "retry"; their stacks are recorded only when a seed is repeated.
Error.stackTraceLimit = 0;

const options = workerData as SimulationOptions;
const unheard: string[] = [];
process.on("unhandledRejection", (error) => void unheard.push(`unhandled rejection: ${String(error)}`));

async function work({ from, count }: Work): Promise<Done> {
  const done = { seeds: count, turns: 0, commits: 0, steps: 0, injectedFaults: 0 };
  const failures: (readonly [number, string])[] = [];
  for (let seed = from; seed < from + count; seed += 1) {
    const { faults, turns, commits, steps, injectedFaults } = await simulate(seed, options);
    // Unhandled rejections are known after a turn of the event loop.
    await setImmediate();
    const [fault] = [...faults, ...unheard.splice(0)];
    if (fault !== undefined) failures.push([seed, fault]);
    done.turns += turns;
    done.commits += commits;
    done.steps += steps;
    done.injectedFaults += injectedFaults;
  }
  return { ...done, failures };
}

async function answer(message: Work): Promise<void> {
  const done = await work(message);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(done);
}

parentPort?.on("message", (message: Work) => void answer(message));
