import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSlowDisk } from "../harness/disk.ts";
import { compare, middle, warmUp } from "../harness/load.ts";
import { atMost, ms, skipped } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { ServerProcess } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";

const FLUSH_MS = 5;

/** Whether the event loop stays free on a slow disk, and the time of the first event there. */
export async function measureSlowDisk(setup: Setup): Promise<Result[]> {
  const what = `with each flush ${FLUSH_MS} ms slower`;
  const directory = mkdtempSync(join(tmpdir(), "troupe-bench-"));
  try {
    const library = buildSlowDisk(directory);
    if (library === undefined) return [skipped(what, "skipped: there is no C compiler")];
    const environment = { LD_PRELOAD: library, SLOW_DISK_MS: String(FLUSH_MS) };
    await using durable = await ServerProcess.start("durable", { watchLoop: true, environment });
    await using hono = await ServerProcess.start("bare-hono");
    const load = { concurrency: 32, ms: setup.roundMs };
    const loads = [durable, hono].map((server) => ({ server, load }));
    await Promise.all(loads.map((loaded) => warmUp(loaded, setup.warmUpTurns)));
    // The delays from here on count.
    await durable.report();
    const [ours = [], theirs = []] = await compare(loads, setup.rounds);
    const { loopDelayP99Ms = Number.NaN } = await durable.report();
    const limit = middle(theirs).firstP50Ms + 2 * FLUSH_MS;
    return [
      atMost(`delay of the event loop p99, ${what}`, loopDelayP99Ms, 10, ms),
      atMost(`first event p50, ${what}; goal = bare Hono + two flushes`, middle(ours).firstP50Ms, limit, ms),
    ];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
