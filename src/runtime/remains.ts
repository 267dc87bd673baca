import { AgentError } from "../errors.ts";
import type { EventLog } from "../ports/event-log.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { RunId } from "../protocol/ids.ts";
import { isUnfinished, NO_AGENT } from "./configuration.ts";

/** What is needed to remove what is left of runs. */
export interface RemainsOptions {
  readonly log: EventLog;
  readonly telemetry: Telemetry;
  /** Throws `conflict` for a run that is still being copied. */
  remove(runId: RunId): Promise<unknown>;
}

const PAGE_SIZE = 100;

/** Removes the runs that are shown to nobody because their copying or their removal was cut off. */
export async function clearRemains({ log, telemetry, remove }: RemainsOptions): Promise<void> {
  const query = { agent: NO_AGENT, oldestFirst: true, limit: PAGE_SIZE } as const;
  for (let cursor: string | undefined; ;) {
    const { runs, next } = await log.list({ ...query, ...(cursor !== undefined && { cursor }) });
    for (const run of runs) {
      if (!isUnfinished(run)) continue;
      await remove(run.runId).catch((error: unknown) => {
        if (error instanceof AgentError && error.code === "conflict") return;
        telemetry.fault(`what is left of run ${run.runId} could not be removed`, error);
      });
    }
    if (next === undefined) return;
    cursor = next;
  }
}
