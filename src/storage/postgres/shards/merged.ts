import { AgentError } from "../../../errors.ts";
import type { AuditEntry, AuditPage, AuditQuery, AuditTrail, NewAuditEntry } from "../../../ports/audit.ts";
import type { RunId } from "../../../protocol/ids.ts";
import { NOTHING_SPENT } from "../../../ports/spending.ts";
import type { Spending, Spent, SpentEntry } from "../../../ports/spending.ts";
import { addSums, NO_SUMS } from "../../../ports/statistics.ts";
import type {
  Statistics,
  StatisticsEntry,
  StatisticsGroup,
  StatisticsQuery,
} from "../../../ports/statistics.ts";
import { auditPlaceOf } from "../../shared/audit.ts";
import { chooseOwners, compareStatistics, compareTexts } from "../../shared/lists.ts";
import { toSpender } from "../../shared/owned-keys.ts";

/** What was spent, in several databases: what each run has spent is in its own one. */
export function mergedSpending(parts: readonly Spending[]): Spending {
  return {
    async on(key) {
      const spent = await Promise.all(parts.map((part) => part.on(key)));
      return spent.reduce(addSpent, NOTHING_SPENT);
    },
    async list(query) {
      const lists = await Promise.all(parts.map((part) => part.list(query)));
      const add = (one: SpentEntry, two: SpentEntry): SpentEntry => ({ ...one, ...addSpent(one, two) });
      return mergeSums(lists, compareSpent, { limit: query.limit, add });
    },
    async put(entries) {
      const nothing = entries.map((entry) => ({ ...entry, ...NOTHING_SPENT }));
      await Promise.all(parts.map((part, index) => part.put(index === 0 ? entries : nothing)));
    },
    remove: (owner) => each(parts, (part) => part.remove(owner)),
  };
}

function addSpent(one: Spent, two: Spent): Spent {
  return {
    tokens: one.tokens + two.tokens,
    cost: one.cost + two.cost,
    raisedTokens: one.raisedTokens + two.raisedTokens,
    raisedCost: one.raisedCost + two.raisedCost,
  };
}

function compareSpent(a: SpentEntry, b: SpentEntry): number {
  return compareTexts(toSpender(a), toSpender(b)) || a.day - b.day;
}

/** Statistics in several databases: what a run has done is in its own one. */
export function mergedStatistics(parts: readonly Statistics[]): Statistics {
  const sum = async (query: StatisticsQuery): Promise<readonly StatisticsGroup[]> => {
    const sums = new Map<string, StatisticsGroup>();
    for (const groups of await Promise.all(parts.map((part) => part.sum(query))))
      for (const group of groups) {
        const key = JSON.stringify([group.group, group.agent, group.kind, group.outcome]);
        const known = sums.get(key);
        sums.set(key, known === undefined ? group : { ...known, ...addSums(known, group) });
      }
    return [...sums.values()];
  };
  return {
    sum,
    // One that has most in no database can have most in all.
    owners: async ({ limit, ...query }) => chooseOwners(await sum({ ...query, by: "owner" }), limit),
    async since() {
      const hours = await Promise.all(parts.map((part) => part.since()));
      const known = hours.filter((hour) => hour !== undefined);
      return known.length === 0 ? undefined : Math.min(...known);
    },
    async failed(query) {
      const lists = await Promise.all(parts.map((part) => part.failed(query)));
      return mergeSorted(lists, (a, b) => b.hour - a.hour).slice(0, query.limit);
    },
    async list(query) {
      const lists = await Promise.all(parts.map((part) => part.list(query)));
      const add = (one: StatisticsEntry, two: StatisticsEntry): StatisticsEntry => ({
        ...two,
        ...one,
        ...addSums(one, two),
      });
      return mergeSums(lists, compareStatistics, { limit: query.limit, add });
    },
    async put(entries) {
      const nothing = entries.map(({ runId: _runId, ...entry }) => ({ ...entry, ...NO_SUMS }));
      await Promise.all(parts.map((part, index) => part.put(index === 0 ? entries : nothing)));
    },
    remove: (owner) => each(parts, (part) => part.remove(owner)),
  };
}

/** What the list of the audit trail asks each database for. */
export interface AuditPart extends Pick<AuditTrail, "list"> {
  /** The agents of those of some runs that are there and are not removed. */
  agentsOf(runIds: readonly RunId[]): Promise<ReadonlyMap<RunId, string>>;
}

/** The audit trail in several databases: what is about a run is where the run was then, everything else in the first one. */
export function mergedAudit(
  parts: readonly (AuditTrail & AuditPart)[],
  placeOf: (runId: RunId) => number,
): AuditTrail {
  return {
    async add(entries) {
      const ofPart = Map.groupBy(entries, ({ runId }: NewAuditEntry) =>
        runId === undefined ? 0 : placeOf(runId),
      );
      await Promise.all(Array.from(ofPart, async ([place, own]) => parts[place]?.add(own)));
    },
    list: (query) => listMergedAudit(parts, query),
    remove: (which) => each(parts, (part) => part.remove(which)),
  };
}

/** Lists the entries of several databases. */
export async function listMergedAudit(parts: readonly AuditPart[], query: AuditQuery): Promise<AuditPage> {
  const { oldestFirst = false, limit } = query;
  const pages = await Promise.all(parts.map((part, place) => part.list(queryOf(query, place))));
  // Of one time, those of the first database are the oldest.
  const direction = oldestFirst ? 1 : -1;
  const placed = pages.map(({ entries }, place) => entries.map((entry) => ({ entry, place })));
  const merged = mergeSorted(placed, (a, b) => (a.entry.at - b.entry.at || a.place - b.place) * direction);
  const taken = merged.slice(0, limit);
  const last = taken.at(-1);
  const entries = await withAgents(
    parts,
    taken.map(({ entry }) => entry),
  );
  const isOver = merged.length === taken.length && pages.every(({ next }) => next === undefined);
  if (isOver || last === undefined) return { entries };
  const { place } = last;
  const count = taken.filter((one) => one.place === place).length;
  // The page that ends with this entry has its place.
  const own = await parts[place]?.list({ ...queryOf(query, place), limit: count });
  const end = own?.next === undefined ? undefined : auditPlaceOf({ cursor: own.next, limit });
  const n = end?.at === last.entry.at ? end.n : oldestFirst ? LAST : 0;
  return { entries, next: `${last.entry.at}.${place}.${n}` };
}

/** Adds the agents of runs that have left the database of their entries. */
async function withAgents(
  parts: readonly AuditPart[],
  entries: readonly AuditEntry[],
): Promise<readonly AuditEntry[]> {
  const lacking = new Set(
    entries.flatMap(({ runId, agent }) => (runId === undefined || agent !== undefined ? [] : [runId])),
  );
  if (lacking.size === 0) return entries;
  const found = await Promise.all(parts.map((part) => part.agentsOf([...lacking])));
  const agents = new Map(found.flatMap((own) => [...own]));
  return entries.map((entry) => {
    const agent = entry.agent ?? agents.get(entry.runId ?? "");
    return agent === undefined ? entry : { ...entry, agent };
  });
}

/** The query for one database, with its own cursor. */
function queryOf({ cursor, ...query }: AuditQuery, place: number): AuditQuery {
  if (cursor === undefined) return query;
  const [, at, ofPlace, n] = /^(\d{1,16})\.(\d{1,4})\.(\d{1,16})$/.exec(cursor) ?? [];
  if (n === undefined) throw new AgentError("invalid_request", NO_CURSOR);
  const { oldestFirst = false } = query;
  const isBehind = oldestFirst ? place > Number(ofPlace) : place < Number(ofPlace);
  const before = oldestFirst ? 0 : LAST;
  const after = oldestFirst ? LAST : 0;
  return { ...query, cursor: `${at}.${place === Number(ofPlace) ? n : isBehind ? before : after}` };
}

const NO_CURSOR = "the cursor is not one that the audit trail returned";

/** Higher than the number of any entry. */
const LAST = Number.MAX_SAFE_INTEGER;

async function each<Part>(parts: readonly Part[], work: (part: Part) => Promise<void>): Promise<void> {
  await Promise.all(parts.map(work));
}

/** A page of a list from one database. */
export interface KeptPage<Item> {
  readonly items: readonly Item[];
  readonly next?: string | undefined;
}

/** Asks for pages until there are as many items that are needed as the limit says. `last` is the last item, also if it is not needed. */
export async function keptPage<Item>(
  limit: number,
  start: string | undefined,
  isNeeded: (item: Item) => boolean,
  ask: (limit: number, cursor: string | undefined) => Promise<KeptPage<Item>>,
): Promise<{
  readonly items: readonly Item[];
  readonly next: string | undefined;
  readonly last: Item | undefined;
}> {
  let items: readonly Item[] = [];
  for (let cursor = start; ;) {
    const page = await ask(limit - items.length, cursor);
    const kept = page.items.filter(isNeeded);
    items = items.length === 0 ? kept : [...items, ...kept];
    cursor = page.next;
    const isWhole = kept.length === page.items.length || items.length >= limit;
    if (isWhole || cursor === undefined) return { items, next: cursor, last: page.items.at(-1) };
  }
}

/** Asks for more and more items, until there are as many that are needed as the limit says. Without a limit all are asked for. */
export async function keptItems<Item>(
  limit: number | undefined,
  isNeeded: (item: Item) => boolean,
  ask: (limit: number | undefined) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  for (let asked = limit; ; asked = asked === undefined ? undefined : asked * 2) {
    const items = await ask(asked);
    const kept = items.filter(isNeeded);
    if (asked === undefined || limit === undefined || items.length < asked) return kept.slice(0, limit);
    if (kept.length >= limit) return kept.slice(0, limit);
  }
}

/** A part of a list from one database, in the order of the list. */
export interface ListPart<Place> {
  readonly items: readonly Place[];
  /** The place up to which it is known; `undefined` if it has no more. */
  readonly until: Place | undefined;
}

/** The first items of the merged list, and the place behind which the next page begins. */
export interface MergedPart<Item extends Place, Place> {
  readonly items: readonly Item[];
  readonly next: Place | undefined;
}

/** Merges parts of one list. What is behind the end of a part that has more is left out: items of it may belong before. */
export function mergeParts<Place, Item extends Place>(
  parts: readonly (Omit<ListPart<Place>, "items"> & { readonly items: readonly Item[] })[],
  compare: (a: Place, b: Place) => number,
  limit: number,
): MergedPart<Item, Place> {
  const ends = parts.flatMap(({ until }) => (until === undefined ? [] : [until]));
  const [end] = ends.toSorted(compare);
  const merged = mergeSorted(
    parts.map(({ items }) => items),
    compare,
  );
  const known = end === undefined ? merged : merged.filter((item) => compare(item, end) <= 0);
  const items = known.slice(0, limit);
  return { items, next: known.length > limit ? items.at(-1) : end };
}

/** Merges lists of one order. Those that are equal come in the order of the lists. */
export function mergeSorted<Item>(
  lists: readonly (readonly Item[])[],
  compare: (a: Item, b: Item) => number,
): readonly Item[] {
  const places = lists.map(() => 0);
  const merged: Item[] = [];
  for (;;) {
    let first: number | undefined;
    for (const [index, list] of lists.entries()) {
      const item = list[places[index] ?? 0];
      if (item === undefined) continue;
      const best = first === undefined ? undefined : lists[first]?.[places[first] ?? 0];
      if (best === undefined || compare(item, best) < 0) first = index;
    }
    if (first === undefined) return merged;
    const item = lists[first]?.[places[first] ?? 0];
    if (item !== undefined) merged.push(item);
    places[first] = (places[first] ?? 0) + 1;
  }
}

/** Merges lists whose equal entries are added up to one. A list that is as long as the limit may have more. */
function mergeSums<Item>(
  lists: readonly (readonly Item[])[],
  compare: (a: Item, b: Item) => number,
  { limit, add }: { readonly limit: number; add(one: Item, two: Item): Item },
): readonly Item[] {
  const parts = lists.map((items) => ({ items, until: items.length < limit ? undefined : items.at(-1) }));
  const { items } = mergeParts<Item, Item>(parts, compare, Infinity);
  const sums: Item[] = [];
  for (const item of items) {
    const last = sums.at(-1);
    if (last !== undefined && compare(last, item) === 0) sums[sums.length - 1] = add(last, item);
    else sums.push(item);
  }
  return sums.slice(0, limit);
}
