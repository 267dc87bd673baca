import type { Environment } from "../ports/environment.ts";
import type { EventLog } from "../ports/event-log.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { RunId } from "../protocol/ids.ts";
import { isConfigRun } from "./configuration.ts";

/** What retention needs. */
export interface RetentionOptions {
  readonly log: EventLog;
  readonly environment: Environment;
  readonly telemetry: Telemetry;
  /** How long an idle run is kept after its last change, in milliseconds. */
  readonly retainMs: number;
  remove(runId: RunId): Promise<void>;
}

/** Between two looks for old runs pass at least a second and at most an hour. */
const LOOKS_MS = { least: 1_000, most: 3_600_000 };

const PAGE_SIZE = 100;

/** Removes runs that have long been idle, now and then, until the answer is called. */
export function startRetention({
  log,
  environment,
  telemetry,
  retainMs,
  remove,
}: RetentionOptions): () => void {
  const pauseMs = Math.min(Math.max(retainMs / 10, LOOKS_MS.least), LOOKS_MS.most);
  let stopped = false;
  let stopTimer = environment.timer(pauseMs, look);

  function look(): void {
    removeOld()
      .catch((error: unknown) => telemetry.fault("old runs could not be removed", error))
      .finally(() => {
        if (!stopped) stopTimer = environment.timer(pauseMs, look);
      });
  }

  async function removeOld(): Promise<void> {
    const notAfter = environment.now() - retainMs;
    for (let cursor: string | undefined; !stopped;) {
      const page = await log.list({ status: "idle", notAfter, limit: PAGE_SIZE, ...(cursor && { cursor }) });
      for (const run of page.runs) {
        // A run that has become busy meanwhile refuses, and is looked at again when it is old once more.
        if (!stopped && !isConfigRun(run)) await remove(run.runId).catch(() => {});
      }
      if (page.next === undefined) return;
      cursor = page.next;
    }
  }

  return () => {
    stopped = true;
    stopTimer();
  };
}
