import type { EventLog } from "../ports/event-log.ts";
import type { RunId } from "../protocol/ids.ts";

/** So many runs are continued at a time. */
const AT_ONCE = 16;

/**
 * Looks after every request that was open when the log was left: what ran is continued, and what was
 * queued is started. What waits is not even looked at until its answer comes.
 */
export async function recover(log: EventLog, recoverRun: (runId: RunId) => Promise<void>): Promise<void> {
  const runs = [...new Set((await log.open()).map(({ runId }) => runId))];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let runId = runs[next]; runId !== undefined; runId = runs[next]) {
      next += 1;
      await recoverRun(runId);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
