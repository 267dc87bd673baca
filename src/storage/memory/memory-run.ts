import type { Page } from "../../ports/event-log.ts";
import type {
  OutboxEntry,
  RunEntry,
  Snapshot,
  WaitEntry,
  ListedRequestEntry,
  RequestEntry,
  RequestEntryPage,
  RunEntryPage,
} from "../../ports/log-entries.ts";
import type { Base, LogRecord, RunRow } from "../../ports/log-batch.ts";
import type { ReadOptions, RequestListQuery, RunEntryQuery } from "../../ports/log-queries.ts";
import { ownerOf } from "../../ports/principal.ts";
import type { RunId } from "../../protocol/ids.ts";
import { countEvents, toEncoded } from "../../protocol/events/texts.ts";
import { EventList } from "../shared/event-list.ts";
import { toOwnedKey } from "../shared/owned-keys.ts";
import {
  checkNoCursor,
  compareRuns,
  positionOf,
  requestPositionOf,
  toListCursor,
  toRequestPage,
  totalOf,
} from "../shared/lists.ts";
import type { ListPosition } from "../shared/lists.ts";
import { hasWords, endedOutput, wordsOf, wordsOfSearch } from "../shared/search-text.ts";

/** A run and its part of the log. */
export interface MemoryRun {
  /** The current claim; 0 if there is none. */
  epoch: number;
  /** The node with the current claim, if it has an id. */
  node?: string | undefined;
  events: EventList;
  records: LogRecord[];
  /** Where its log begins, if its beginning was removed. */
  base?: Base;
  /** Their ids, with the owner. */
  readonly requests: Set<string>;
  /** Created with the first. */
  aliases?: Set<string>;
  /** The things outside the log that it refers to; created with the first. */
  references?: Set<string>;
  /** The open waits by id; created with the first. */
  waits?: Map<number, WaitEntry>;
  /** The entries of its outbox that are not done; created with the first. */
  outbox?: OutboxEntry[];
  row?: RunRow;
  snapshot?: Snapshot;
}

export function newRun(): MemoryRun {
  return {
    epoch: 0,
    events: new EventList(0),
    records: [],
    requests: new Set(),
  };
}

/** What the list of runs shows of a run besides its row. */
export function toEntry(
  runId: RunId,
  { events, aliases = NO_ALIASES, row, requests, waits, node }: MemoryRun,
  lookup: Lookup,
): Omit<RunEntry, keyof RunRow> {
  const [first] = aliases.size > 1 ? [...aliases].sort() : aliases;
  // The names of agents have no spaces.
  const alias = first?.slice(first.indexOf(" ") + 1);
  const entry = {
    runId,
    head: events.head,
    ...(alias !== undefined && { alias }),
    ...(node !== undefined && { node }),
  };
  if (row === undefined || row.status === "idle") return entry;
  let queued = 0;
  for (const key of requests) if (lookup(key)?.phase === "queued") queued += 1;
  const wakeAt = row.started === undefined ? undefined : lookup(toOwnedKey(row.started, row.owner))?.wakeAt;
  return {
    ...entry,
    ...(waits !== undefined && waits.size > 0 && { openWaits: waits.size }),
    ...(queued > 0 && { queued }),
    ...(wakeAt !== undefined && { wakeAt }),
  };
}

const NO_ALIASES = new Set<string>();

/** The size of a run's entries in characters; most characters take one byte. */
export function textLengthOf({ events, records }: MemoryRun): number {
  const characters = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length, 0);
  return (
    characters(toEncoded(events.read({ after: 0 }))) +
    characters(records.map((record) => JSON.stringify(record)))
  );
}

/** The number of records of a run, with those that were removed. */
export function recordCount({ records, base }: MemoryRun): number {
  return (base?.records ?? 0) + records.length;
}

/** Has the log of a run begin behind a place. */
export function moveBase(run: MemoryRun, base: Base): void {
  const events = new EventList(base.head);
  events.add(run.events.read({ after: base.head }));
  run.records = run.records.filter(({ n }) => n > base.records);
  run.events = events;
  run.base = base;
}

/** Reads a page of the events of a run. */
export function readPage(run: MemoryRun, options: ReadOptions): Page {
  const { base } = run;
  if (base && options.after < base.head) return { ...readPage(run, { ...options, after: base.head }), base };
  const { after, records = false, afterRecord = 0 } = options;
  const events = run.events.read(options);
  const before = Math.max(afterRecord - (base?.records ?? 0), 0);
  return {
    events,
    records: records ? recordsBetween(run.records, after, after + countEvents(events), before) : [],
    head: run.events.head,
  };
}

/** The records from an index on whose `after` is between `from` and `to`, both included. */
function recordsBetween(
  records: readonly LogRecord[],
  from: number,
  to: number,
  index: number,
): readonly LogRecord[] {
  return records.slice(Math.max(firstFrom(records, from), index), firstFrom(records, to + 1));
}

/** The index of the first record whose `after` is `id` or greater. */
function firstFrom(records: readonly LogRecord[], id: number): number {
  let low = 0;
  let high = records.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((records[middle]?.after ?? id) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

type Lookup = (key: string) => RequestEntry | undefined;

type Runs = ReadonlyMap<RunId, MemoryRun>;

/** A run with a row, at its place in the list. */
export interface PlacedRun extends ListPosition {
  readonly runId: RunId;
  readonly run: MemoryRun;
  readonly row: RunRow;
}

/** The runs that have a row, in the order of the list. Runs are made and changed nearly in that order, so it takes about one pass. */
export function toListOrder(runs: Runs): readonly PlacedRun[] {
  const places: PlacedRun[] = [];
  for (const [runId, run] of runs) {
    const { row } = run;
    if (row !== undefined) places.push({ runId, updatedAt: row.updatedAt, run, row });
  }
  return places.toReversed().sort(compareRuns);
}

/** The index of the first run behind a position. */
function firstBehind(order: readonly PlacedRun[], position: ListPosition): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const place = order[middle];
    if (place !== undefined && compareRuns(place, position) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Lists the runs of a log in memory. */
export function listRuns(order: readonly PlacedRun[], query: RunEntryQuery, lookup: Lookup): RunEntryPage {
  const { limit, oldestFirst = false, offset = 0 } = query;
  const position = positionOf(query);
  const begin = position === undefined ? 0 : firstBehind(order, position);
  const isAtPlace = position !== undefined && order[begin - 1]?.runId === position.runId;
  // The oldest first: what stands before the place, backwards.
  const before = position === undefined ? order.length : isAtPlace ? begin - 1 : begin;
  const step = oldestFirst ? -1 : 1;
  const searched = query.text === undefined ? undefined : wordsOfSearch(query.text);
  const page: PlacedRun[] = [];
  let hasMore = false;
  let skipped = 0;
  for (let at = oldestFirst ? before - 1 : begin; ; at += step) {
    const place = order[at];
    if (place === undefined) break;
    if (!isListed(place, query)) continue;
    if (searched !== undefined && !hasWords(wordsOfRun(place, lookup), searched)) continue;
    if (skipped < offset) skipped += 1;
    else if (page.length < limit) page.push(place);
    else {
      hasMore = true;
      break;
    }
  }
  const last = page.at(-1);
  return {
    runs: page.map(({ runId, run, row }) => ({ ...row, ...toEntry(runId, run, lookup) })),
    ...(hasMore && last !== undefined && { next: toListCursor(last) }),
    ...totalOf(query, () => order.filter((place) => isListed(place, query)).length),
  };
}

function isListed({ row }: Pick<PlacedRun, "row">, query: RunEntryQuery): boolean {
  const { agent, owner, status, failed = false } = query;
  if (failed && row.lastTurn?.finish_reason !== "error") return false;
  if (agent !== undefined && row.agent !== agent) return false;
  if (owner !== undefined && ownerOf(row) !== owner) return false;
  return status === undefined || row.status === status;
}

/** The words of rows, with the head and the base that they were made at. */
const WORDS = new WeakMap<
  RunRow,
  { readonly head: number; readonly base: Base | undefined; readonly words: string }
>();

/** The words of a run, which are made again when it has changed. */
function wordsOfRun({ runId, run, row }: PlacedRun, lookup: Lookup): string {
  const { events } = run;
  const known = WORDS.get(row);
  // An alias can move without a change of the row.
  const isSame = known?.head === events.head && known.base === run.base;
  if (isSame && run.aliases === undefined) return known.words;
  const ended = [...run.requests]
    .toReversed()
    .map((key) => lookup(key))
    .find(
      (request) =>
        request?.started !== undefined &&
        request.completed !== undefined &&
        request.completed !== request.started,
    )?.completed;
  const [event] = ended === undefined ? [] : run.events.read({ after: ended - 1, limit: 1 });
  const isKept = ended !== undefined && ended > (run.base?.head ?? 0);
  const entry = { ...row, ...toEntry(runId, run, lookup) };
  const words = wordsOf(entry, isKept && typeof event === "string" ? endedOutput(event) : undefined);
  WORDS.set(row, { head: events.head, base: run.base, words });
  return words;
}

/** Lists the runs of a log in memory in the order in which they were made. */
export function listByCreation(runs: Runs, query: RunEntryQuery, lookup: Lookup): RunEntryPage {
  checkNoCursor(query);
  const { limit, offset = 0 } = query;
  const page: RunEntry[] = [];
  let total = 0;
  for (const [runId, run] of runs) {
    const { row } = run;
    if (row === undefined || row.agent === "" || !isListed({ row }, query)) continue;
    if (total >= offset && page.length < limit) page.push({ ...row, ...toEntry(runId, run, lookup) });
    total += 1;
  }
  return { runs: page, ...totalOf(query, () => total) };
}

/** Lists the requests of all runs of a log in memory. */
export function listRequests(
  order: readonly PlacedRun[],
  query: RequestListQuery,
  lookup: Lookup,
): RequestEntryPage {
  const { runId, phase, updatedAfter = 0, createdBefore = Infinity, limit } = query;
  const position = requestPositionOf(query);
  const places = order.filter(
    (place) =>
      place.updatedAt >= updatedAfter &&
      place.row.createdAt < createdBefore &&
      (runId === undefined || place.runId === runId) &&
      isListed(place, query),
  );
  const found: ListedRequestEntry[] = [];
  const take = ({ run: { requests }, row, updatedAt }: (typeof places)[number], before?: string): void => {
    // A set keeps the order in which requests were accepted.
    const keys = [...requests].toReversed();
    for (const key of before === undefined ? keys : keys.slice(keys.indexOf(before) + 1)) {
      const entry = lookup(key);
      const isWanted = entry !== undefined && (phase === undefined || entry.phase === phase);
      if (isWanted) found.push({ ...entry, agent: row.agent, updatedAt });
      if (found.length > limit) return;
    }
  };
  const rest = places.find((place) => place.runId === position?.runId);
  // The run may have moved in the list since; the next page goes on behind the place that it had.
  if (rest && position?.requestId !== undefined)
    take({ ...rest, ...position }, toOwnedKey(position.requestId, ownerOf(rest.row)));
  for (const place of places) {
    if (found.length > limit) break;
    if (position === undefined || (place !== rest && compareRuns(position, place) < 0)) take(place);
  }
  return toRequestPage(found, query);
}
