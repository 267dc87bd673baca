import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atMost, megabytes, ms } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { runProcess } from "../harness/run-process.ts";
import type { Setup } from "../harness/setup.ts";
import type { Trial } from "../compare/trial.ts";
import type { Memory } from "../servers/runs.ts";

/** The number of waiting runs that are answered, spread over the log. */
const ANSWERS = 1_000;

export const WAITING_TRIAL: Trial = {
  what: "an answer to a run that waits",
  async open(tree, { lateRun }) {
    const folder = mkdtempSync(join(tmpdir(), "troupe-bench-"));
    const waiting = join(folder, "waiting");
    runProcess("wait", waiting, lateRun, tree);
    return {
      async sample() {
        const copy = join(folder, "copy");
        cpSync(waiting, copy, { recursive: true });
        cpSync(`${waiting}.runs.json`, `${copy}.runs.json`);
        const { resumeMs, after } = runProcess("resume", copy, ANSWERS, tree) as Resumed;
        rmSync(copy, { recursive: true });
        return {
          "p50 ms": resumeMs.p50,
          "p99 ms": resumeMs.p99,
          "slowest ms": resumeMs.max,
          "resident MB": after.rss,
        };
      },
      async [Symbol.asyncDispose]() {
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};

/** The cost of waiting and sleeping runs for a process that starts. */
export async function measureWaiting({ lateRun: runs }: Setup): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), "troupe-bench-"));
  const waiting = join(folder, "waiting");
  const sleeping = join(folder, "sleeping");
  try {
    runProcess("wait", waiting, runs);
    const { before, after, resumeMs } = runProcess("resume", waiting, ANSWERS) as Resumed;
    runProcess("sleep", sleeping, runs);
    const slept = runProcess("recover", sleeping, 0) as Slept;
    return [
      atMost(`a process with ${runs} runs that wait`, before.rss, 200, megabytes),
      atMost(`the same when ${ANSWERS} of them have been answered`, after.rss, 200, megabytes),
      atMost("an answer to one of them, p50", resumeMs.p50, 10, ms),
      atMost("an answer to one of them, p99", resumeMs.p99, 10, ms),
      atMost("an answer to one of them, the slowest", resumeMs.max, 20, ms),
      atMost(`a process with ${runs} turns that sleep for 30 days`, slept.after.rss, 200, megabytes),
      atMost("time until ready", slept.readyMs, 2_000, ms),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The output of a process that answers runs. */
interface Resumed {
  readonly before: Memory;
  readonly after: Memory;
  readonly resumeMs: { readonly p50: number; readonly p99: number; readonly max: number };
}

/** The output of a process that starts on a log of sleeping turns. */
interface Slept {
  readonly readyMs: number;
  readonly after: Memory;
}
