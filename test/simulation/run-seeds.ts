import { Worker } from "node:worker_threads";
import type { Done, Work } from "./worker.ts";

/** The seeds to run, and options. */
export interface SeedsOptions {
  readonly from: number;
  readonly count: number;
  /** The number of threads. */
  readonly threads: number;
  /** Whether several nodes are played. */
  readonly nodes?: boolean;
  /** Called periodically with the results so far. */
  readonly progress?: (sum: Done) => void;
}

/** The number of seeds that a thread gets at a time. */
const PORTION = 250;

/** Stops after this many failures. */
const ENOUGH = 10;

/** Runs many seeds on several threads; stops early after enough failures. */
export async function runSeeds({
  from,
  count,
  threads,
  nodes = false,
  progress,
}: SeedsOptions): Promise<Done> {
  let sum: Done = { seeds: 0, turns: 0, commits: 0, steps: 0, injectedFaults: 0, failures: [] };
  let next = from;
  const end = from + count;
  async function lane(): Promise<void> {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), {
      workerData: { nodes },
      execArgv: ["--conditions=troupe-source"],
      // Simulations produce much garbage that survives one collection; a larger young generation saves a
      // tenth of the time.
      resourceLimits: { maxYoungGenerationSizeMb: 64 },
    });
    try {
      while (next < end && sum.failures.length < ENOUGH) {
        const work = { from: next, count: Math.min(PORTION, end - next) };
        next += work.count;
        const done = await ask(worker, work);
        sum = add(sum, done);
        progress?.(sum);
      }
    } finally {
      await worker.terminate();
    }
  }
  await Promise.all(Array.from({ length: threads }, lane));
  return sum;
}

/** A failed seed, and how to repeat it. */
export function toReport([seed, fault]: readonly [seed: number, fault: string], nodes = false): string {
  const repeat = `npm run test:simulation --${nodes ? " --nodes" : ""} --seed ${seed}`;
  return `seed ${seed}: ${fault}\nrepeat it with: ${repeat}`;
}

function ask(worker: Worker, work: Work): Promise<Done> {
  return new Promise((resolve, reject) => {
    worker.once("error", reject);
    worker.once("message", (done: Done) => {
      worker.off("error", reject);
      resolve(done);
    });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage(work);
  });
}

function add(a: Done, b: Done): Done {
  return {
    seeds: a.seeds + b.seeds,
    turns: a.turns + b.turns,
    commits: a.commits + b.commits,
    steps: a.steps + b.steps,
    injectedFaults: a.injectedFaults + b.injectedFaults,
    failures: [...a.failures, ...b.failures],
  };
}
