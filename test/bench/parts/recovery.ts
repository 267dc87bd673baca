import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atMost, ms } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { runProcess } from "../harness/run-process.ts";
import type { Setup } from "../harness/setup.ts";
import type { OpenTrial, Trial } from "../compare/trial.ts";
import { EVENTS } from "../servers/runs.ts";

export const RECOVERY_TRIAL: Trial = {
  what: "ready with all runs in mid-turn",
  open: async (tree, { longRun }) => killed(longRun / EVENTS, longRun / EVENTS, tree),
};

/** The time until a process is ready on the log of a killed one. */
export async function measureRecovery({ longRun: events }: Setup): Promise<Result[]> {
  const runs = events / EVENTS;
  return [await measure(runs, runs / 100), await measure(runs, runs)];
}

async function measure(runs: number, open: number): Promise<Result> {
  await using trial = killed(runs, open);
  const { "ready ms": readyMs = Number.NaN } = await trial.sample();
  return atMost(
    `ready with ${runs} runs of ${EVENTS} events, ${open} of them in mid-turn`,
    readyMs,
    2_000,
    ms,
  );
}

/** The log of a killed process, with a number of runs, some of them in mid-turn. */
function killed(runs: number, open: number, tree?: string): OpenTrial {
  const folder = mkdtempSync(join(tmpdir(), "troupe-bench-"));
  const filled = join(folder, "filled");
  runProcess(`fill ${runs}`, filled, open, tree);
  return {
    async sample() {
      // A start counts its attempt, so each one has a copy.
      const copy = join(folder, "copy");
      cpSync(filled, copy, { recursive: true });
      const { readyMs, cpuMs } = runProcess("recover", copy, 0, tree) as Recovered;
      rmSync(copy, { recursive: true });
      return { "ready ms": readyMs, "CPU ms": cpuMs };
    },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The output of a process that starts on a log. */
interface Recovered {
  readonly readyMs: number;
  readonly cpuMs: number;
}
