import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atMost, ms } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import type { Setup } from "../harness/setup.ts";
import { EVENTS } from "../servers/runs.ts";
import { runProcess } from "../harness/run-process.ts";

/** The time until a process is ready on the log of a killed one. */
export async function measureRecovery({ longRun: events }: Setup): Promise<Result[]> {
  const runs = events / EVENTS;
  return [await measure(runs, runs / 100), await measure(runs, runs)];
}

async function measure(runs: number, open: number): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "troupe-bench-"));
  try {
    runProcess(`fill ${runs}`, folder, open);
    const { readyMs } = runProcess("recover", folder, 0) as { readonly readyMs: number };
    const what = `ready with ${runs} runs of ${EVENTS} events, ${open} of them in mid-turn`;
    return atMost("recovery", what, readyMs, 2_000, ms);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
