import { AgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import type { HoldCode } from "../../protocol/events/outcome-codes.ts";
import type { By } from "../../protocol/actors.ts";
import type { RunId } from "../../protocol/ids.ts";
import { forEachConcurrent } from "../../shared/map-concurrent.ts";
import { pagesOf } from "../../shared/pages.ts";
import type { HeldCount, HeldQuery, WaitCount } from "../api.ts";
import { isHidden } from "../journal/system-runs.ts";
import { sendMessage } from "../run/messages.ts";
import type { HostContext } from "../run-context.ts";
import { RUNS_AT_ONCE, ownRuns } from "./own-runs.ts";
import { sendRecover } from "./send-recover.ts";

/** Rows that are read at a time. */
const PAGE = 500;

/** Rows that are counted at most. */
const COUNTED = 10_000;

/**
 * Tries the held turns that are this node's to continue again: the code that is served may have changed. `tried` has those
 * that this node has tried since a change of nodes; without a change it tries each once.
 */
export async function retryHeldTurns(context: HostContext, tried: Set<RunId>): Promise<void> {
  for await (const runs of heldRuns(context)) {
    const others = runs.filter(({ runId }) => !tried.has(runId));
    const own = await ownRuns(context.router, others);
    for (const runId of own) tried.add(runId);
    await forEachConcurrent(own, RUNS_AT_ONCE, (runId) => sendRecover(context, runId, { isRetry: true }));
  }
}

/** Tries held turns again, each on the node that it belongs to. Returns how many were tried. */
export async function retryHeld(
  context: HostContext,
  { runId, agent }: HeldQuery,
  by: By | undefined,
): Promise<number> {
  const retry = { isRetry: true, ...(by && { by }) };
  if (runId !== undefined) {
    const run = await context.log.run(runId);
    if (run?.status !== "held") throw new AgentError("conflict", `run ${runId} has no turn that is held`);
    await sendMessage(context.router, runId, { kind: "recover", ...retry });
    return 1;
  }
  let tried = 0;
  for await (const runs of heldRuns(context, agent)) {
    tried += runs.length;
    await forEachConcurrent(runs, RUNS_AT_ONCE, (run) => sendRecover(context, run.runId, retry));
  }
  return tried;
}

type Lists = Pick<HostContext, "log" | "environment">;

/** The number of held turns, by agent and reason. */
export async function countHeld(lists: Lists): Promise<readonly HeldCount[]> {
  const counts = new Map<string, { readonly agent: string; readonly code: HoldCode; turns: number }>();
  let looked = 0;
  for await (const runs of heldRuns(lists)) {
    for (const { agent, lastTurn } of runs) {
      const code = lastTurn?.held?.code ?? "nondeterministic";
      const key = `${agent} ${code}`;
      const count = counts.get(key) ?? { agent, code, turns: 0 };
      count.turns += 1;
      counts.set(key, count);
    }
    looked += runs.length;
    if (looked >= COUNTED) break;
  }
  return [...counts.values()];
}

/** The number of open waits, and how long the oldest is open. */
export async function countWaits(log: EventLog, now: number): Promise<WaitCount> {
  const { waits, total = waits.length } = await log.waits({ limit: 1, total: COUNTED });
  const oldestAt = waits[0]?.openedAt;
  return { waits: total, oldestMs: oldestAt === undefined ? 0 : Math.max(now - oldestAt, 0) };
}

/** The runs whose turn is held, page by page. One that continues meanwhile may be left out or come twice. */
async function* heldRuns({ log, environment }: Lists, agent?: string): AsyncGenerator<readonly RunEntry[]> {
  const query = { status: "held", limit: PAGE, ...(agent !== undefined && { agent }) } as const;
  for await (const { runs } of pagesOf((start) => log.list({ ...query, ...start }), environment))
    yield runs.filter((run) => !isHidden(run));
}
