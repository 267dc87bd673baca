import type { RunEntry, RunPage, RunQuery } from "../../ports/log-index.ts";
import { checkNoCursor, compareRuns, positionOf, toListCursor } from "../shared/run-list.ts";
import type { ListPosition } from "../shared/run-list.ts";

/** A page of the rows that a query selects, which come in the order in which the runs were created. */
export function listRuns(selected: Iterable<RunEntry>, query: RunQuery): RunPage {
  if (query.byCreation === true) return listByCreation(selected, query);
  const { limit, oldestFirst = false, offset = 0 } = query;
  const compare = (a: ListPosition, b: ListPosition): number =>
    oldestFirst ? compareRuns(b, a) : compareRuns(a, b);
  const position = positionOf(query);
  const found: RunEntry[] = [];
  let total = 0;
  for (const entry of selected) {
    total += 1;
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

function listByCreation(selected: Iterable<RunEntry>, query: RunQuery): RunPage {
  checkNoCursor(query);
  const { limit, offset = 0 } = query;
  const page: RunEntry[] = [];
  let total = 0;
  for (const entry of selected) {
    if (entry.agent === "") continue;
    if (total >= offset && page.length < limit) page.push(entry);
    total += 1;
  }
  return { runs: page, ...(query.total === true && { total }) };
}
