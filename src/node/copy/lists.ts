import type { EventLog } from "../../ports/event-log.ts";
import type { RequestEntry, WaitEntry } from "../../ports/log-entries.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";

/** The ids of all runs in the order of their first appends, then those of the removed runs. */
export async function* runIdsOf(log: EventLog): AsyncGenerator<RunId, void> {
  for (const removed of [false, true]) {
    for (let after: RunId | undefined; ;) {
      const page = await log.runIds({ removed, limit: PAGE, ...(after !== undefined && { after }) });
      yield* page;
      if (page.length < PAGE) break;
      after = page.at(-1);
    }
  }
}

/** The requests of a run in pages, the one that was accepted first first; also those of a removed run. */
export async function* requestsOf(
  log: EventLog,
  runId: RunId,
): AsyncGenerator<readonly RequestEntry[], void> {
  const query = { runId, limit: PAGE, oldestFirst: true, removed: true } as const;
  for (let after: RequestId | undefined; ;) {
    const page = await log.requests({ ...query, ...(after !== undefined && { after }) });
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.requestId;
  }
}

/** The open waits of a run. */
export async function waitsOf(log: EventLog, runId: RunId): Promise<readonly WaitEntry[]> {
  const found: WaitEntry[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await log.waits({ runId, limit: PAGE, ...(cursor !== undefined && { cursor }) });
    found.push(...page.waits);
    cursor = page.next;
    if (cursor === undefined) return found;
  }
}

const PAGE = 500;
