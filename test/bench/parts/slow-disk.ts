import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSlowDisk } from "../harness/disk.ts";
import { compare, middle } from "../harness/load.ts";
import { atMost, ms, skipped } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { ServerProcess } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";

const FLUSH_MS = 5;

/** Whether the event loop stays free on a slow disk, and the time of the first event there (G3). */
export async function measureSlowDisk(setup: Setup): Promise<Result[]> {
  const what = `with each flush ${FLUSH_MS} ms slower`;
  const directory = mkdtempSync(join(tmpdir(), "troupe-bench-"));
  try {
    const library = buildSlowDisk(directory);
    if (library === undefined) return [skipped("G3", what, "skipped: there is no C compiler")];
    const environment = { LD_PRELOAD: library, SLOW_DISK_MS: String(FLUSH_MS) };
    await using durable = await ServerProcess.start("durable", { watchLoop: true, environment });
    await using hono = await ServerProcess.start("bare-hono");
    const load = { concurrency: 32, ms: setup.roundMs };
    await compare([durable], load, { ...setup, rounds: 0 });
    await durable.report();
    const [ours = [], theirs = []] = await compare([durable, hono], load, { ...setup, warmUpMs: 500 });
    const { loopDelayP99Ms = Number.NaN } = await durable.report();
    const limit = middle(theirs).firstP50Ms + 2 * FLUSH_MS;
    return [
      atMost("G3", `delay of the event loop p99, ${what}`, loopDelayP99Ms, 10, ms),
      atMost(
        "G3",
        `first event p50, ${what}; goal = bare Hono + two flushes`,
        middle(ours).firstP50Ms,
        limit,
        ms,
      ),
    ];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
