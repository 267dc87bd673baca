import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atMost, megabytes, ms } from "../../harness/result.ts";
import type { Result } from "../../harness/result.ts";
import { runProcess } from "../../harness/run-process.ts";
import type { Setup } from "../../harness/setup.ts";
import type { Memory } from "../../servers/runs.ts";

/** What actors that are parked on asks cost a process that starts. */
export function measureParked({ lateRun: actors }: Setup): readonly Result[] {
  const folder = mkdtempSync(join(tmpdir(), "troupe-bench-"));
  const asking = join(folder, "asking");
  try {
    runProcess("ask", asking, actors);
    const { readyMs, loaded, after } = runProcess("recover", asking, 0) as Recovered;
    return [
      atMost(
        `a process with ${actors} actors by key that are parked on asks, after a restart`,
        after.rss,
        200,
        megabytes,
      ),
      atMost("actors of them in memory", loaded, 0, String),
      atMost("time until ready", readyMs, 2_000, ms),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The output of a process that starts on a log of parked actors. */
interface Recovered {
  readonly readyMs: number;
  /** The number of runs in memory. */
  readonly loaded: number;
  readonly after: Memory;
}
