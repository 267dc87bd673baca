import { AgentError } from "../../errors.ts";
import type {
  ListedRequestEntry,
  RequestEntryPage,
  ScheduleEntry,
  ScheduleEntryPage,
  WaitEntry,
  WaitEntryPage,
} from "../../ports/log-entries.ts";
import type { OwnerSums, StatisticsGroup, StatisticsKey } from "../../ports/statistics.ts";
import type {
  RequestListQuery,
  RunEntryQuery,
  ScheduleQuery,
  WaitEntryQuery,
} from "../../ports/log-queries.ts";

/** A position in the list of runs: after this run. */
export interface ListPosition {
  readonly updatedAt: number;
  readonly runId: string;
}

/** Compares runs in list order: most recently updated first, then by id. */
export function compareRuns(a: ListPosition, b: ListPosition): number {
  if (a.updatedAt !== b.updatedAt) return b.updatedAt - a.updatedAt;
  if (a.runId === b.runId) return 0;
  return a.runId < b.runId ? -1 : 1;
}

/** Encodes a list position as a cursor. */
export function toListCursor({ updatedAt, runId }: ListPosition): string {
  return `${updatedAt}.${runId}`;
}

/** Decodes a cursor of the list; `invalid_request` for an invalid text. */
function parseListCursor(cursor: string): ListPosition {
  const [, updatedAt, runId] = /^(\d{1,16})\.([A-Za-z0-9_-]+)$/.exec(cursor) ?? [];
  if (updatedAt === undefined || runId === undefined) {
    throw new AgentError("invalid_request", "the cursor is not one that the list of runs returned");
  }
  return { updatedAt: Number(updatedAt), runId };
}

/** The list position at which a query starts; `undefined` for the start of the list. */
export function positionOf({ cursor }: RunEntryQuery): ListPosition | undefined {
  return cursor === undefined ? undefined : parseListCursor(cursor);
}

/** Up to which number a query counts what it selects; `undefined` if it does not count. */
export function countedOf({ total = false }: { readonly total?: boolean | number }): number | undefined {
  if (typeof total === "number") return total;
  return total ? Infinity : undefined;
}

/** What a page says about its total: the number of what the query selects, if it asks for it, up to the number that it names. */
export function totalOf(
  query: { readonly total?: boolean | number },
  count: () => number,
): { readonly total?: number } {
  const most = countedOf(query);
  return most === undefined ? {} : { total: Math.min(count(), most) };
}

/** Refuses a cursor for a list that has none. */
export function checkNoCursor({ cursor }: RunEntryQuery): void {
  if (cursor === undefined) return;
  throw new AgentError("invalid_request", "a list in the order of creation has no cursor", {
    hint: "use an offset",
  });
}

/** A position in the list of open waits: after this wait. */
export type WaitPosition = Pick<WaitEntry, "openedAt" | "runId" | "waitId">;

/** Compares waits in list order: the oldest first, then by run and id. */
export function compareWaits(a: WaitPosition, b: WaitPosition): number {
  if (a.openedAt !== b.openedAt) return a.openedAt - b.openedAt;
  if (a.runId !== b.runId) return a.runId < b.runId ? -1 : 1;
  return a.waitId - b.waitId;
}

/** Makes a page of waits of which one more than the limit was read. */
export function toWaitPage(found: readonly WaitEntry[], { limit }: WaitEntryQuery): WaitEntryPage {
  const waits = found.slice(0, limit);
  const last = waits.at(-1);
  if (found.length <= limit || last === undefined) return { waits };
  return { waits, next: `${last.openedAt}.${last.waitId}.${last.runId}` };
}

/** The position at which a query starts; `undefined` for the start of the list. */
export function waitPositionOf({ cursor }: WaitEntryQuery): WaitPosition | undefined {
  if (cursor === undefined) return undefined;
  const [, openedAt, waitId, runId] = /^(\d{1,16})\.(\d{1,16})\.([A-Za-z0-9_-]+)$/.exec(cursor) ?? [];
  if (runId === undefined) {
    throw new AgentError("invalid_request", "the cursor is not one that the list of waits returned");
  }
  return { openedAt: Number(openedAt), waitId: Number(waitId), runId };
}

/** Makes a page of schedules of which one more than the limit was read. */
export function toSchedulePage(
  found: readonly ScheduleEntry[],
  { limit }: Pick<ScheduleQuery, "limit">,
): ScheduleEntryPage {
  const schedules = found.slice(0, limit);
  const last = schedules.at(-1);
  if (found.length <= limit || last === undefined) return { schedules };
  return { schedules, next: `${last.runId}/${last.id}` };
}

/** The schedule behind which a page begins; `undefined` for the start of the list. */
export function schedulePositionOf({
  cursor,
}: Pick<ScheduleQuery, "cursor">): { readonly runId: string; readonly id: string } | undefined {
  if (cursor === undefined) return undefined;
  const [, runId, id] = /^([A-Za-z0-9_-]+)\/([A-Za-z0-9_.:@-]+)$/.exec(cursor) ?? [];
  if (runId === undefined || id === undefined)
    throw new AgentError("invalid_request", "the cursor is not one that the list of schedules returned");
  return { runId, id };
}

/** A position in the list of requests: after this request, or after all of the run, which was at this place when it was listed. */
export type RequestPosition = ListPosition & Partial<Pick<ListedRequestEntry, "requestId">>;

/** Makes a page of requests of which one more than the limit was read. */
export function toRequestPage(
  found: readonly ListedRequestEntry[],
  { limit }: Pick<RequestListQuery, "limit">,
): RequestEntryPage {
  const requests = found.slice(0, limit);
  const last = requests.at(-1);
  if (found.length <= limit || last === undefined) return { requests };
  return { requests, next: toRequestCursor(last) };
}

/** Encodes a position in the list of requests as a cursor. */
export function toRequestCursor({ requestId = "", ...run }: RequestPosition): string {
  return `${toListCursor(run)}.${requestId}`;
}

/** The request behind which a page begins; `undefined` for the start of the list. */
export function requestPositionOf({ cursor }: Pick<RequestListQuery, "cursor">): RequestPosition | undefined {
  if (cursor === undefined) return undefined;
  const [, updatedAt, runId, requestId] =
    /^(\d{1,16})\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)$/.exec(cursor) ?? [];
  if (runId === undefined || requestId === undefined)
    throw new AgentError("invalid_request", "the cursor is not one that the list of requests returned");
  return { updatedAt: Number(updatedAt), runId, ...(requestId !== "" && { requestId }) };
}

/** The order of keys in all engines; turns come before completions. */
export function compareStatistics(a: StatisticsKey, b: StatisticsKey): number {
  return (
    a.hour - b.hour ||
    compareTexts(a.owner, b.owner) ||
    compareTexts(b.kind, a.kind) ||
    compareTexts(a.agent, b.agent) ||
    compareTexts(a.name, b.name) ||
    compareTexts(a.outcome, b.outcome)
  );
}

/** Chooses the owners with the most turns and completions among the sums of all owners. */
export function chooseOwners(sums: readonly StatisticsGroup[], limit: number): OwnerSums {
  const counts = new Map<string, number>();
  for (const { group, count } of sums) counts.set(String(group), (counts.get(String(group)) ?? 0) + count);
  const most = [...counts].sort(([a, one], [b, two]) => two - one || compareTexts(a, b)).slice(0, limit);
  const chosen = new Set(most.map(([owner]) => owner));
  return { count: counts.size, groups: sums.filter(({ group }) => chosen.has(String(group))) };
}

/** Compares texts as the engines do. */
export function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
