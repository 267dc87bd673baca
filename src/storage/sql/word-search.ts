import type { EventLog } from "../../ports/event-log.ts";
import type { Batch } from "../../ports/log-batch.ts";
import type { RunEntry, RunEntryPage } from "../../ports/log-entries.ts";
import type { RunEntryQuery } from "../../ports/log-queries.ts";
import { DEFAULT_OWNER } from "../../ports/principal.ts";
import type { RunId } from "../../protocol/ids.ts";
import { mapConcurrent } from "../../shared/map-concurrent.ts";
import { sha256 } from "../../shared/sha256.ts";
import { compareRuns, positionOf, toListCursor } from "../shared/lists.ts";
import type { ListPosition } from "../shared/lists.ts";
import { hasWords, endedOutput, wordsOf, wordsOfSearch } from "../shared/search-text.ts";
import type { IndexQueries, RunText, WalkedRun } from "./queries.ts";
import type { SqlQuery } from "./query.ts";

/** What a search needs from an engine. */
export interface WordSearchOptions {
  readonly queries: IndexQueries;
  ask<Answer>(query: SqlQuery<Answer>): Answer | Promise<Answer>;
  readonly read: EventLog["read"];
}

/** The words of a run. */
export interface MadeWords {
  readonly words: string;
  /** False if the row of the run has an end whose event cannot be read yet: its commit is not acknowledged. */
  readonly isWhole: boolean;
}

/** Searches the runs of a list, and makes their words. */
export interface WordSearch {
  /** A page of the runs with all words of a text. It has no more than the index and the runs that are due allow in a bounded time. */
  search(query: RunEntryQuery & { readonly text: string }): Promise<RunEntryPage>;
  /** The words of runs as they are now, with whether nothing is missing. A removed run is left out. */
  wordsOf(runIds: readonly RunId[]): Promise<ReadonlyMap<RunId, MadeWords>>;
}

/**
 * A search looks at the newest runs first, which answers one for a frequent word: an index would find too many. One for a rare
 * word, which few or none of these have, asks the index. What has changed since its words were written is looked at itself.
 */
export function createWordSearch({ queries, ask, read }: WordSearchOptions): WordSearch {
  async function search({
    text,
    ...query
  }: RunEntryQuery & { readonly text: string }): Promise<RunEntryPage> {
    positionOf(query);
    const words = wordsOfSearch(text);
    if (words.length === 0) return { runs: [] };
    const isBehind = queries.areTextsBehind !== undefined && (await ask(queries.areTextsBehind));
    const due = isBehind ? [] : await ask(queries.dueTexts(query, DUE + 1));
    if (isBehind || due.length > DUE) {
      const walked = await walk(query, words, { size: DUE });
      return toPage(walked.found, query, walked);
    }
    const fitting = await fit(due, words);
    const first = await walk(query, words, { fitting, size: FIRST_WALK });
    const isEnough = first.isOver || first.found.length > query.limit;
    const isFrequent = first.found.length >= FREQUENT && !isEnough;
    const walked = isFrequent ? await walk(query, words, { fitting, size: WALK }) : first;
    if (walked.isOver || walked.found.length > query.limit) return toPage(walked.found, query, walked);
    const most = { ...query, limit: query.limit + 1 + due.length };
    // An index reads all runs of a frequent word before it takes the next one, so it is asked for the longest alone, which few have.
    const [longest = "", ...others] = [...words].sort((a, b) => b.length - a.length);
    const rare =
      others.length === 0
        ? undefined
        : await ask(
            queries.matching(most, {
              words: await withOwner([longest], query.owner),
              others,
              most: FEW_HITS,
            }),
          );
    const hits =
      rare ??
      (await ask(queries.matching(most, { words: await withOwner(words, query.owner), most: MOST_HITS })));
    if (hits === undefined) {
      const all = await walk(query, words, { fitting, size: LONG_WALK });
      return toPage(all.found, query, all);
    }
    const dueIds = new Set(due.map(({ runId }) => runId));
    const found = [
      ...hits.filter(({ runId }) => !dueIds.has(runId)),
      ...due.filter(({ runId }) => fitting.has(runId)),
    ].sort((a, b) => (query.oldestFirst === true ? compareRuns(b, a) : compareRuns(a, b)));
    return toPage(found, query);
  }

  /** Looks at the first runs of a list. `fitting` are the runs that are due and fit, if they are known. */
  async function walk(
    query: RunEntryQuery,
    words: readonly string[],
    { fitting, size }: { readonly fitting?: ReadonlySet<RunId>; readonly size: number },
  ): Promise<Walk> {
    const rows = await ask(queries.walk(query, words, size));
    const due = fitting === undefined ? rows.filter(({ isDue }) => isDue) : [];
    const fits = fitting ?? (await fit(due, words));
    const found = rows.filter((row: WalkedRun) => (row.isDue ? fits.has(row.runId) : row.fits));
    return { found, looked: rows.length, last: rows.at(-1), isOver: rows.length < size };
  }

  /** Makes a page of those that were found, of which one more than the limit shows that there is a next page. */
  async function toPage(
    found: readonly ListPosition[],
    { limit }: RunEntryQuery,
    walked?: Walk,
  ): Promise<RunEntryPage> {
    const page = found.slice(0, limit);
    const rows = new Map<RunId, RunEntry>();
    if (page.length > 0)
      for (const { run } of await ask(queries.textsOf(page.map(({ runId }) => runId))))
        rows.set(run.runId, run);
    const runs = page.map(({ runId }) => rows.get(runId)).filter((run) => run !== undefined);
    const [isFull, isCut] = [found.length > limit, walked?.isOver === false];
    const last = isFull ? page.at(-1) : isCut ? walked?.last : undefined;
    return {
      runs,
      ...(last !== undefined && { next: toListCursor(last) }),
      ...(isCut && !isFull && { looked: walked?.looked ?? 0 }),
    };
  }

  async function fit(
    runs: readonly ListPosition[],
    searched: readonly string[],
  ): Promise<ReadonlySet<RunId>> {
    if (runs.length === 0) return new Set();
    const made = await makeWords(runs.map(({ runId }) => runId));
    return new Set([...made].flatMap(([runId, { words }]) => (hasWords(words, searched) ? [runId] : [])));
  }

  async function makeWords(runIds: readonly RunId[]): Promise<ReadonlyMap<RunId, MadeWords>> {
    const texts = await ask(queries.textsOf(runIds));
    const made = new Map<RunId, MadeWords>();
    for await (const [runId, words] of mapConcurrent(texts, READ_AT_ONCE, toWords)) made.set(runId, words);
    return made;
  }

  async function toWords({ run, ended }: RunText): Promise<readonly [RunId, MadeWords]> {
    const page =
      ended === undefined ? undefined : await read(run.runId, { after: ended - 1, limit: 1, batched: true });
    const event = page?.base === undefined ? page?.events[0] : undefined;
    const isWhole = page === undefined || page.base !== undefined || event !== undefined;
    const words = wordsOf(run, typeof event === "string" ? endedOutput(event) : undefined);
    const { owner = DEFAULT_OWNER } = run;
    if (owner === DEFAULT_OWNER || words === "") return [run.runId, { words, isWhole }];
    const owned = await withOwner(words.split(" "), owner);
    return [run.runId, { words: `${words} ${owned.join(" ")}`, isWhole }];
  }

  return { search, wordsOf: makeWords };
}

/** How many runs may have other words after a batch. */
export function wordsChangedBy({ run, base, alias }: Batch): number {
  return ((run ?? base ?? alias) === undefined ? 0 : 1) + (alias?.from === undefined ? 0 : 1);
}

interface Walk {
  readonly found: readonly ListPosition[];
  readonly looked: number;
  readonly last: ListPosition | undefined;
  /** Whether the list has no more runs. */
  readonly isOver: boolean;
}

/** Words as they are found for one owner only. */
async function withOwner(words: readonly string[], owner: string | undefined): Promise<readonly string[]> {
  if (owner === undefined || owner === DEFAULT_OWNER) return words;
  const key = (await sha256(owner)).replaceAll(/[-_]/g, "x").slice(0, 16).toLowerCase();
  return words.map((word) => `${key}:${word}`);
}

/**
 * How many runs are looked at one by one before the index is asked, how many if so many of these have the words that more of them make a page,
 * and how many if the index has found too many.
 */
const FIRST_WALK = 100;
const FREQUENT = 5;
const WALK = 1_000;
const LONG_WALK = 5_000;

/** How many runs may be due for a search to look at all of them. */
const DUE = 500;

/** So many runs of one word are looked at for the others. */
const FEW_HITS = 1_000;

/** More runs than this are not taken from the index: a word that so many have is found among the runs that are looked at. */
const MOST_HITS = 10_000;

const READ_AT_ONCE = 32;
