import type { RunId } from "../../protocol/ids.ts";
import { isHidden, isUnfinished, NO_AGENT } from "../journal/system-runs.ts";
import { AgentError } from "../../errors.ts";
import type { RunCommands } from "../commands/run-commands.ts";
import type { HostContext, RunContext } from "../run-context.ts";
import { forEachConcurrent } from "../../shared/map-concurrent.ts";

/** The parts that retention needs. */
export interface RetentionOptions {
  readonly context: HostContext;
  /** How long an idle run is kept after its last change, in milliseconds. Default: forever. */
  readonly retainMs?: number;
  /** Maximum bytes of all runs and artifacts. Default: unlimited. */
  readonly retainBytes?: number;
  readonly runs: RunCommands;
}

/** The interval between two checks for old runs is at least a second and at most an hour. */
const LOOKS_MS = { least: 1_000, most: 3_600_000 };

/** The interval between two checks of the total size, in milliseconds. */
const WEIGH_MS = 60_000;

const PAGE_SIZE = 100;

/** The runs that are removed at once: a database commits several removals together, and turns use it too. */
const AT_ONCE = 8;

/**
 * Periodically removes runs that have been idle too long or exceed the size limit, until the returned
 * function is called.
 */
export function startRetention(options: RetentionOptions): () => void {
  const { context, runs, retainMs = Infinity, retainBytes = Infinity } = options;
  const { log, files, environment, router, telemetry } = context;
  const mostMs = retainBytes === Infinity ? LOOKS_MS.most : WEIGH_MS;
  const pauseMs = Math.min(Math.max(retainMs / 10, LOOKS_MS.least), mostMs);
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
    if (!router.leads("retention")) return;
    const old = environment.now() - retainMs;
    let excess = await findExcess();
    for (let cursor: string | undefined; ;) {
      const query = { status: "idle", oldestFirst: true, limit: PAGE_SIZE } as const;
      const page = await log.list({ ...query, ...(cursor !== undefined && { cursor }) });
      const known = page.runs.filter((run) => !isHidden(run));
      // Those that are too old are the first ones.
      const others = known.findIndex(({ updatedAt }) => updatedAt > old);
      const tooOld = others < 0 ? known : known.slice(0, others);
      await forEachConcurrent(tooOld, AT_ONCE, ({ runId }) => tryRemove(runId));
      if (tooOld.length > 0) excess = await findExcess();
      // Removed one after the other, because what each one frees decides whether the next one is removed.
      for (const { runId } of known.slice(tooOld.length)) {
        if (stopped || excess <= 0) return;
        const bytes = await size(runId);
        if (await tryRemove(runId)) excess -= bytes;
      }
      if (stopped || page.next === undefined) return;
      cursor = page.next;
    }
  }

  /** Removes a run, unless it is needed again. Returns whether it is removed. */
  async function tryRemove(runId: RunId): Promise<boolean> {
    if (stopped) return false;
    return runs.remove(runId, "retention").then(
      () => true,
      // A run that is busy again, has unread messages or the start of a schedule refuses; the next check asks it again.
      () => false,
    );
  }

  /** The bytes above the limit. */
  async function findExcess(): Promise<number> {
    return retainBytes === Infinity ? 0 : (await size()) - retainBytes;
  }

  async function size(runId?: RunId): Promise<number> {
    return (await log.size(runId)) + (await files.store.size(runId));
  }

  return () => {
    stopped = true;
    stopTimer();
  };
}

/** Removes the hidden runs whose copying or removal was interrupted. */
export async function removeUnfinishedRuns({ log, telemetry }: RunContext, runs: RunCommands): Promise<void> {
  const query = { agent: NO_AGENT, oldestFirst: true, limit: PAGE_SIZE } as const;
  for (let cursor: string | undefined; ;) {
    const page = await log.list({ ...query, ...(cursor !== undefined && { cursor }) });
    for (const run of page.runs) {
      if (!isUnfinished(run)) continue;
      await runs.remove(run.runId, "remains").catch((error: unknown) => {
        // The run is still being copied, or its copy has ended since.
        if (error instanceof AgentError && error.code === "conflict") return;
        telemetry.fault(`the remains of run ${run.runId} could not be removed`, error);
      });
    }
    if (page.next === undefined) return;
    cursor = page.next;
  }
}
