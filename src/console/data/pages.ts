import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import type { AgentError } from "../../errors.ts";
import type { RunChange } from "../../client/client-api.ts";
import { nextQuery } from "../../client/wire/wire.ts";
import type { QueryParameters } from "../../client/wire/wire.ts";
import type { EventOf } from "../../protocol/events/events.ts";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { useRunChanges } from "./changes.ts";
import { toCount, countText } from "./counts.ts";
import { useResource } from "./resource.ts";
import type { PageServer } from "./page-server.ts";

/** A list of the server that is read page by page as far as a person looks. */
export interface Pages<Row> {
  /** What is read so far; absent before the first answer. */
  readonly rows: readonly Row[] | undefined;
  /** Which list `rows` are of: another filter makes another one. */
  readonly key: string | undefined;
  /** Why the last attempt to read failed. `rows` is then what was read before, perhaps with other filters. */
  readonly error: AgentError | undefined;
  /** Whether there are more rows behind. */
  readonly hasMore: boolean;
  /** How far the list has been searched, if many pages had nothing: `goOn` reads more then, `more` does not. */
  readonly searchedTo: string | undefined;
  /** Whether `rows` are those of other filters than the ones asked for. */
  readonly isStale: boolean;
  /** Reads the next page, unless one is being read. */
  more(): void;
  goOn(): void;
  reload(): void;
}

/** An open question of a run, as the log has it. */
export type WaitEvent = EventOf<"WaitForInput">;

/** Reads the runs that a query selects. */
export function useRunPages(server: PageServer, query: QueryParameters): Pages<RunSummary> {
  // What changes comes to the front of the newest ones.
  return usePages(server, query["order"] === "oldest" ? OLDEST_RUNS : NEWEST_RUNS, query);
}

/** Reads the open questions that a query selects, the oldest first. */
export function useWaitPages(server: PageServer, query: QueryParameters): Pages<WaitEvent> {
  return usePages(server, WAITS, query);
}

/** What a list of the server has. */
interface ServerList<Row> {
  readonly path: string;
  nameOf(row: Row): string;
  /** Whether what a changed run has in the list can be another one now. */
  concerns(change: RunChange, rows: readonly Row[]): boolean;
  /** Where a row stands, if those that change come to the front. Others are read again as far as they were read. */
  placeOf?(row: Row): string;
}

const OLDEST_RUNS: ServerList<RunSummary> = {
  path: "/runs",
  nameOf: (run) => run.run_id,
  concerns: () => true,
};

const NEWEST_RUNS: ServerList<RunSummary> = { ...OLDEST_RUNS, placeOf: (run) => run.updated_at };

const WAITS: ServerList<WaitEvent> = {
  path: "/waits",
  nameOf: (wait) => `${wait.run_id}.${wait.wait_id}`,
  concerns: (change, waits) =>
    (!("removed" in change) && change.open_waits > 0) || waits.some((wait) => wait.run_id === change.run_id),
};

interface Read<Row> {
  readonly key: string;
  readonly rows: readonly Row[];
  readonly next: string | undefined;
  /** How many pages in a row, the newest last, had no row although there is a next one. */
  readonly empty: number;
}

function usePages<Row>(server: PageServer, list: ServerList<Row>, query: QueryParameters): Pages<Row> {
  const key = JSON.stringify([server.url, list.path, query]);
  const [read, setRead] = useState<Read<Row>>();
  const [error, setError] = useState<AgentError>();
  const newest = useRef<Read<Row>>(undefined);
  newest.current = read;
  const busy = useRef<AbortController>(undefined);
  /** Whether a change came while a page was read. */
  const isDue = useRef(false);
  const tookMs = useRef(0);
  const asked = useRef({ list, query });
  asked.current = { list, query };

  const load = useCallback(
    async (cursor: string | undefined): Promise<void> => {
      const stop = new AbortController();
      busy.current = stop;
      const { list: of, query: chosen } = asked.current;
      const before = newest.current?.key === key ? newest.current : undefined;
      const isBehind = cursor !== undefined;
      const isWhole = !isBehind && of.placeOf === undefined;
      const startedAt = performance.now();
      try {
        const rows: Row[] = [];
        let next = cursor;
        do {
          const left = (isWhole ? (before?.rows.length ?? 0) : 0) - rows.length;
          const limit = Math.max(PAGE, Math.min(PAGE_LIMIT, left));
          const page = { ...chosen, limit, cursor: next };
          const { json, headers } = await server.ask("GET", of.path, { query: page, signal: stop.signal });
          rows.push(...(json as readonly Row[]));
          next = nextQuery(headers).get("cursor") ?? undefined;
        } while (isWhole && next !== undefined && before !== undefined && isBefore(next, rows, before));
        tookMs.current = isWhole ? performance.now() - startedAt : 0;
        const emptyBefore = before?.empty ?? 0;
        const empty = rows.length > 0 ? 0 : isBehind || before === undefined ? emptyBefore + 1 : emptyBefore;
        setRead({ key, empty, ...merge(of, before, { rows, next }, isBehind) });
        setError(undefined);
      } catch (thrown) {
        if (!stop.signal.aborted) setError(toAgentError(thrown));
      }
      if (busy.current !== stop) return;
      busy.current = undefined;
      if (!isDue.current || stop.signal.aborted) return;
      isDue.current = false;
      void load(undefined);
    },
    [server, key],
  );

  useEffect(() => {
    void load(undefined);
    return () => busy.current?.abort();
  }, [load]);
  const reload = useCallback(() => {
    isDue.current = busy.current !== undefined;
    if (!isDue.current) void load(undefined);
  }, [load]);
  useRunChanges(
    server,
    reload,
    (change) => list.concerns(change, read?.rows ?? []),
    () => tookMs.current * PAUSES,
  );
  const readOn = useCallback(
    (isAsked: boolean) => {
      const { next, key: of, empty = 0 } = newest.current ?? {};
      const isPaused = empty > 0 && empty % MOST_EMPTY === 0 && !isAsked;
      if (next !== undefined && of === key && busy.current === undefined && !isPaused) void load(next);
    },
    [load, key],
  );
  const more = useCallback(() => readOn(false), [readOn]);
  const goOn = useCallback(() => readOn(true), [readOn]);

  return useMemo(
    () => ({
      rows: read?.rows,
      key: read?.key,
      error,
      hasMore: read?.next !== undefined,
      searchedTo: read && read.empty > 0 && read.empty % MOST_EMPTY === 0 ? timeOf(read.next) : undefined,
      isStale: read !== undefined && read.key !== key,
      more,
      goOn,
      reload,
    }),
    [read, error, key, more, goOn, reload],
  );
}

/**
 * The number of the runs that a query selects, with a plus while there are more than were read and the server has not counted
 * them, or has stopped counting. It counts in a request of its own, behind the first page, because a count reads more runs than the page.
 */
export function useRunCount(
  server: PageServer,
  query: QueryParameters,
  { rows: runs, hasMore, isStale }: Pages<RunSummary>,
): string | undefined {
  const tookMs = useRef(0);
  const isSearched =
    SEARCHED.some((name) => query[name] !== undefined) || (query["finish_reason"] ?? "error") !== "error";
  const isCounted = hasMore && !isStale && !isSearched;
  const key = JSON.stringify([server.url, query, isCounted]);
  const { value, reload } = useResource(key, async (signal) => {
    if (!isCounted) return { key, total: undefined };
    const startedAt = performance.now();
    const { headers } = await server.ask("GET", "/runs", {
      query: { ...query, limit: 1, total: true },
      signal,
    });
    tookMs.current = performance.now() - startedAt;
    return { key, total: headers.get("total-count") ?? undefined };
  });
  useRunChanges(server, reload, undefined, () => tookMs.current * PAUSES);
  const total = value?.key === key ? value.total : undefined;
  /** Of the list before, as long as that one is shown. */
  const shown = useRef<string>(undefined);
  if (runs !== undefined && !isStale) shown.current = countText(toCount(runs.length, hasMore, total));
  return shown.current;
}

/** What runs are searched by. The server counts those of other lists, and those that failed. */
const SEARCHED = ["q", "error_code", "updated_after", "metadata"];

/** So many times as long as a count took, or the reading of many pages, the page waits before the next one: most of the time the server does something else. */
const PAUSES = 10;

const PAGE = 100;

/** As many rows as the server has on a page. */
const PAGE_LIMIT = 1_000;

/** After so many pages without a row a person decides whether the search goes on: the server looks at thousands of rows for each. */
const MOST_EMPTY = 10;

/** Whether a list that is read again has not yet been read as far as before, or to an end that has moved on. */
function isBefore<Row>(next: string, { length }: readonly Row[], before: Part<Row>): boolean {
  if (before.next === undefined) return length < before.rows.length + PAGE;
  return Number.parseInt(next, 10) < Number.parseInt(before.next, 10);
}

/** The time of the row at a place of the list: the list's cursors begin with it. */
function timeOf(cursor: string | undefined): string | undefined {
  const ms = Number.parseInt(cursor ?? "", 10);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** The time some hours ago, to a minute, so that the list since then stays the same list while it is looked at. */
export function hoursAgo(hours: number): string {
  return new Date(Math.floor(Date.now() / 60_000 - hours * 60) * 60_000).toISOString();
}

type Part<Row> = Pick<Read<Row>, "rows" | "next">;

/** Joins what was read with what was read before: behind it, in front of it, or in its place. */
function merge<Row>(
  { nameOf, placeOf }: ServerList<Row>,
  before: Read<Row> | undefined,
  { rows, next }: Part<Row>,
  isBehind: boolean,
): Part<Row> {
  if (before === undefined) return { rows, next };
  // The beginning of a search has nothing, as before.
  if (!isBehind && rows.length === 0 && next !== undefined) return before;
  const names = new Set(rows.map(nameOf));
  const others = before.rows.filter((row) => !names.has(nameOf(row)));
  if (isBehind) return { rows: [...others, ...rows], next };
  const isLonger = before.rows.length > rows.length && next !== undefined;
  // Without a common row there may be others in between.
  if (placeOf === undefined || !isLonger || others.length === before.rows.length) return { rows, next };
  const last = rows.at(-1);
  const rest = others.filter((row) => last === undefined || placeOf(row) <= placeOf(last));
  return { rows: [...rows, ...rest], next: before.next };
}
