// Runs generated simulations, or repeats one of them and prints every step: npm run test:simulation --
// [--seeds 1000000] [--from 1] [--threads 2] | --seed N; with --nodes, two to four nodes share a log
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { runSeeds, toReport } from "./run-seeds.ts";
import { simulate } from "./simulate.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000000" },
    from: { type: "string", default: "1" },
    threads: { type: "string", default: String(availableParallelism()) },
    seed: { type: "string" },
    nodes: { type: "boolean", default: false },
  },
});

/** The number of seeds between two progress lines. */
const LINE_EVERY = 50_000;

async function runOne(seed: number): Promise<boolean> {
  const { faults, trace } = await simulate(seed, { nodes: values.nodes });
  for (const line of trace()) console.log(line);
  for (const fault of faults) console.log(fault);
  console.log(faults.length === 0 ? `Seed ${seed} passes.` : `Seed ${seed} fails.`);
  return faults.length === 0;
}

async function runMany(): Promise<boolean> {
  const startedAt = performance.now();
  const seconds = (): number => Math.round((performance.now() - startedAt) / 1000);
  let lines = 0;
  let reported = 0;
  const { seeds, turns, commits, steps, injectedFaults, failures } = await runSeeds({
    from: Number(values.from),
    count: Number(values.seeds),
    threads: Number(values.threads),
    nodes: values.nodes,
    progress: (sum) => {
      for (const failure of sum.failures.slice(reported)) console.log(toReport(failure, values.nodes));
      reported = sum.failures.length;
      if (sum.seeds < (lines + 1) * LINE_EVERY) return;
      lines += 1;
      console.error(`${sum.seeds} seeds in ${seconds()} s, ${sum.failures.length} of them failed`);
    },
  });
  console.log(
    `${seeds} seeds from ${values.from} on: ${turns} turns, ${commits} commits, ${injectedFaults} faults, ${steps} steps; ` +
      `${failures.length} failed; ${seconds()} s, ${Math.round((seeds / (performance.now() - startedAt)) * 1000)} seeds a second.`,
  );
  return failures.length === 0;
}

const isSound = values.seed === undefined ? await runMany() : await runOne(Number(values.seed));
process.exitCode = isSound ? 0 : 1;
