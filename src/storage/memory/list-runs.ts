import type { RequestEntry, RunEntry, RunPage } from "../../ports/log-entries.ts";
import type { RunQuery } from "../../ports/log-queries.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { checkNoCursor, compareRuns, positionOf, toListCursor } from "../shared/lists.ts";
import type { ListPosition } from "../shared/lists.ts";
import { toEntry } from "./memory-run.ts";
import type { MemoryRun } from "./memory-run.ts";

type Lookup = (requestId: RequestId) => RequestEntry | undefined;

type Runs = ReadonlyMap<RunId, MemoryRun>;

/** Lists the runs of a log in memory. */
export function listRuns(runs: Runs, query: RunQuery, lookup: Lookup): RunPage {
  if (query.byCreation === true) return listByCreation(runs, query, lookup);
  const { agent, status, limit, oldestFirst = false, offset = 0 } = query;
  const compare = (a: ListPosition, b: ListPosition): number =>
    oldestFirst ? compareRuns(b, a) : compareRuns(a, b);
  const position = positionOf(query);
  const found: RunEntry[] = [];
  let total = 0;
  for (const [runId, run] of runs) {
    const { row } = run;
    if (row === undefined) continue;
    if (agent !== undefined && row.agent !== agent) continue;
    if (status !== undefined && row.status !== status) continue;
    total += 1;
    const entry = { ...row, ...toEntry(runId, run, lookup) };
    if (position === undefined || compare(position, entry) < 0) found.push(entry);
  }
  const page = found.sort(compare).slice(offset, offset + limit);
  const last = page.at(-1);
  return {
    runs: page,
    ...(found.length > offset + limit && last !== undefined && { next: toListCursor(last) }),
    ...(query.total === true && { total }),
  };
}

function listByCreation(runs: Runs, query: RunQuery, lookup: Lookup): RunPage {
  checkNoCursor(query);
  const { agent, status, limit, offset = 0 } = query;
  const page: RunEntry[] = [];
  let total = 0;
  for (const [runId, run] of runs) {
    const { row } = run;
    if (row === undefined || row.agent === "") continue;
    if (agent !== undefined && row.agent !== agent) continue;
    if (status !== undefined && row.status !== status) continue;
    if (total >= offset && page.length < limit) page.push({ ...row, ...toEntry(runId, run, lookup) });
    total += 1;
  }
  return { runs: page, ...(query.total === true && { total }) };
}
