import type { RunId } from "../../protocol/ids.ts";
import { isHidden, isUnfinished, NO_AGENT } from "../journal/system-runs.ts";
import { AgentError } from "../../errors.ts";
import type { RunPhase } from "../../protocol/answers/status.ts";
import type { RunEntry, RunEntryPage } from "../../ports/log-entries.ts";
import { pagesOf } from "../../shared/pages.ts";
import type { RunCommands } from "../commands/run-commands.ts";
import type { HostContext, RunContext } from "../run-context.ts";
import { OldRuns } from "./old-runs.ts";

/** The parts that retention needs. */
export interface RetentionOptions {
  readonly context: HostContext;
  /** How long the history of an idle run is kept after its last change, in milliseconds. Default: forever. */
  readonly retainMs?: number;
  /** Maximum bytes of all runs and artifacts. Default: unlimited. */
  readonly retainBytes?: number;
  readonly runs: RunCommands;
}

/** The interval between two checks for old runs is at least a second and at most an hour. */
const LOOKS_MS = { least: 1_000, most: 3_600_000 };

/** The interval between two checks of the total size, in milliseconds. */
const WEIGH_MS = 60_000;

const PAGE_SIZE = 200;

/**
 * Periodically removes histories that are too old or exceed the size limit, and the actors that their agents let expire,
 * until the returned function is called. Does nothing if there is no such limit.
 */
export function startRetention(options: RetentionOptions): () => void {
  const { context, runs, retainMs = Infinity, retainBytes = Infinity } = options;
  const { agents, log, files, environment, router, telemetry } = context;
  const expiring = agents.names.flatMap((name) => {
    const { expireMs } = agents.get(name);
    return expireMs === undefined ? [] : [{ name, expireMs }];
  });
  const shortestMs = Math.min(retainMs, ...expiring.map(({ expireMs }) => expireMs));
  if (shortestMs === Infinity && retainBytes === Infinity) return () => {};
  const mostMs = retainBytes === Infinity ? LOOKS_MS.most : WEIGH_MS;
  const pauseMs = Math.min(Math.max(shortestMs / 10, LOOKS_MS.least), mostMs);
  const oldRuns = new OldRuns(context, runs);
  let stopped = false;
  let stopTimer = start();
  /** The place in the list of runs before which there are only actors without a history. */
  let keptUpTo: string | undefined;

  function start(): () => void {
    return environment.timer(pauseMs, look, { background: true });
  }

  function look(): void {
    removeAll()
      .catch((error: unknown) => telemetry.fault("old runs could not be removed", error))
      .finally(() => {
        if (!stopped) stopTimer = start();
      });
  }

  async function removeAll(): Promise<void> {
    if (!router.leads("retention")) return;
    try {
      for (const { name, expireMs } of expiring) await removeExpired(name, environment.now() - expireMs);
      await oldRuns.settle();
      if (retainMs === Infinity && retainBytes === Infinity) return;
      await removeOld();
    } finally {
      await oldRuns.settle();
    }
    for (const status of ["running", "waiting", "held"] as const) await shortenAll(status);
  }

  /** Removes the runs of an agent that were not changed since a time. */
  async function removeExpired(agent: string, since: number): Promise<void> {
    for await (const page of idleRuns({ agent })) {
      const old = page.runs.filter(({ updatedAt }) => updatedAt <= since);
      await oldRuns.add(old, "expired");
      if (stopped || old.length < page.runs.length) return;
    }
  }

  async function removeOld(): Promise<void> {
    const old = environment.now() - retainMs;
    let excess: number | undefined;
    let hasOnlyKept = true;
    for await (const page of idleRuns({}, keptUpTo)) {
      const known = page.runs.filter((run) => !isHidden(run) && hasHistory(run));
      // Those that are too old are the first ones.
      const firstOther = known.findIndex(({ updatedAt }) => updatedAt > old);
      const tooOld = firstOther < 0 ? known : known.slice(0, firstOther);
      await oldRuns.add(tooOld);
      const others = known.slice(tooOld.length);
      if (others.length > 0) {
        if (excess === undefined) {
          await oldRuns.settle();
          excess = await findExcess();
        }
        excess -= await removeAbove(excess, others);
        if (excess <= 0) return;
      }
      if (stopped) return;
      hasOnlyKept &&= page.runs.every((run) => isHidden(run) || !hasHistory(run));
      if (hasOnlyKept && page.next !== undefined) keptUpTo = page.next;
    }
  }

  /** Removes as many of some runs, the first ones first, as have the bytes of an excess. Returns the bytes of those that are removed. */
  async function removeAbove(excess: number, some: readonly RunEntry[]): Promise<number> {
    let freed = 0;
    for (let next = 0; next < some.length && freed < excess && !stopped;) {
      const together = new Map<RunEntry, number>();
      for (let bytes = freed; next < some.length && bytes < excess; next += 1) {
        const run = some[next] as RunEntry;
        const own = await size(run.runId);
        together.set(run, own);
        bytes += own;
      }
      await oldRuns.add([...together.keys()]);
      const kept = await oldRuns.settle();
      for (const [{ runId }, bytes] of together) if (!kept.has(runId)) freed += bytes;
    }
    return freed;
  }

  /** Removes the beginnings of the runs whose turns are open, which `removeOld` leaves. */
  async function shortenAll(status: RunPhase): Promise<void> {
    const old = environment.now() - retainMs;
    let excess = await findExcess();
    const query = { status, oldestFirst: true, limit: PAGE_SIZE } as const;
    for await (const page of pagesOf((start) => log.list({ ...query, ...start }), environment)) {
      for (const run of page.runs) {
        if (stopped) return;
        if (isHidden(run) || run.head < context.limits.checkpointEvents) continue;
        await tryShorten(run, excess > 0 ? environment.now() : old);
        if (excess > 0) excess = await findExcess();
      }
    }
  }

  /** Removes what happened in a run with an open turn, up to a time. */
  async function tryShorten(run: RunEntry, upTo: number): Promise<void> {
    try {
      await runs.shorten(run, upTo);
    } catch (error) {
      // It was removed, or its owner does not answer; the next check asks it again.
      if (!(error instanceof AgentError)) throw error;
    }
  }

  function idleRuns(of: { readonly agent?: string }, from?: string): AsyncGenerator<RunEntryPage, void> {
    const query = { status: "idle", oldestFirst: true, limit: PAGE_SIZE, ...of } as const;
    return pagesOf((start) => log.list({ ...query, ...start }), environment, from);
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
    oldRuns.stop();
    stopTimer();
  };
}

/** Whether a run has more than the actor that it belongs to needs. */
function hasHistory({ alias, turns }: RunEntry): boolean {
  return alias === undefined || turns > 0;
}

/** Removes the hidden runs whose copying or removal was interrupted. */
export async function removeUnfinishedRuns(context: RunContext, runs: RunCommands): Promise<void> {
  const { environment, log, telemetry } = context;
  const query = { agent: NO_AGENT, oldestFirst: true, limit: PAGE_SIZE } as const;
  for await (const page of pagesOf((start) => log.list({ ...query, ...start }), environment)) {
    for (const run of page.runs) {
      if (!isUnfinished(run)) continue;
      await runs.remove(run.runId, "remains").catch((error: unknown) => {
        // The run is still being copied, or its copy has ended since.
        if (error instanceof AgentError && error.code === "conflict") return;
        telemetry.fault(`the remains of run ${run.runId} could not be removed`, error);
      });
    }
  }
}
