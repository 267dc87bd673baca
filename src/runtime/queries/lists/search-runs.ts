import type { EventLog } from "../../../ports/event-log.ts";
import type { RunEntry, RunPage } from "../../../ports/log-entries.ts";
import type { RunQuery } from "../../../ports/log-queries.ts";
import type { FinishReason } from "../../../protocol/events/outcome-codes.ts";
import { isHidden } from "../../journal/system-runs.ts";

/** What a search looks for. */
export interface RunSearch {
  readonly finishReason: FinishReason | undefined;
  readonly text: string | undefined;
}

/**
 * Finds runs that no index of the log finds. One page looks at 10,000 runs at most, so it can end early; `next` leads
 * on.
 */
export async function searchRuns(
  log: EventLog,
  { limit, cursor: start, ...query }: RunQuery,
  search: RunSearch,
): Promise<RunPage> {
  const found: RunEntry[] = [];
  let cursor = start;
  let looked = 0;
  for (;;) {
    const page = await log.list({ ...query, limit: limit - found.length, ...(cursor && { cursor }) });
    found.push(...page.runs.filter((run) => !isHidden(run) && fits(run, search)));
    looked += page.runs.length;
    cursor = page.next;
    if (cursor === undefined) return { runs: found };
    if (found.length >= limit || looked >= LOOKED) return { runs: found, next: cursor };
  }
}

const LOOKED = 10_000;

function fits(run: RunEntry, { finishReason, text }: RunSearch): boolean {
  if (finishReason !== undefined && run.lastTurn?.finish_reason !== finishReason) return false;
  if (text === undefined) return true;
  const { runId, alias, lastTurn, initialInput } = run;
  if ([runId, alias, lastTurn?.request_id].some((id) => id?.startsWith(text) === true)) return true;
  const input = typeof initialInput === "string" ? initialInput : JSON.stringify(initialInput);
  return input.toLowerCase().includes(text.toLowerCase());
}
