import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import type { AgentError } from "../../errors.ts";
import { nextQuery } from "../../client/wire/wire.ts";
import type { QueryParameters } from "../../client/wire/wire.ts";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { useRunChanges } from "./changes.ts";
import { useResource } from "./resource.ts";
import type { PageServer } from "./page-server.ts";

/** A list of runs that is read page by page as far as a person looks. */
export interface RunPages {
  /** What is read so far; absent before the first answer. */
  readonly runs: readonly RunSummary[] | undefined;
  /** Why the last attempt to read failed. `runs` is then what was read before, perhaps with other filters. */
  readonly error: AgentError | undefined;
  /** Whether there are more runs behind. */
  readonly hasMore: boolean;
  /** How far the list has been searched, if many pages had nothing: `goOn` reads more then, `more` does not. */
  readonly searchedTo: string | undefined;
  /** Whether `runs` are those of other filters than the ones asked for. */
  readonly isStale: boolean;
  /** Reads the next page, unless one is being read. */
  more(): void;
  goOn(): void;
  reload(): void;
}

interface Read {
  readonly key: string;
  readonly runs: readonly RunSummary[];
  readonly next: string | undefined;
  /** How many pages in a row, the newest last, had no run although there is a next one. */
  readonly empty: number;
}

/** Reads the runs that a query selects. Their beginning is read again when a run changes; what is behind stays. */
export function useRunPages(server: PageServer, query: QueryParameters): RunPages {
  const key = JSON.stringify([server.url, query]);
  const [read, setRead] = useState<Read>();
  const [error, setError] = useState<AgentError>();
  const newest = useRef<Read>(undefined);
  newest.current = read;
  const busy = useRef<AbortController>(undefined);
  const asked = useRef(query);
  asked.current = query;

  const load = useCallback(
    async (cursor: string | undefined): Promise<void> => {
      const stop = new AbortController();
      busy.current = stop;
      try {
        const page = { ...asked.current, limit: PAGE, cursor };
        const { json, headers } = await server.ask("GET", "/runs", { query: page, signal: stop.signal });
        const runs = json as readonly RunSummary[];
        const next = nextQuery(headers).get("cursor") ?? undefined;
        const before = newest.current?.key === key ? newest.current : undefined;
        const isBehind = cursor !== undefined;
        const emptyBefore = before?.empty ?? 0;
        const empty = runs.length > 0 ? 0 : isBehind || before === undefined ? emptyBefore + 1 : emptyBefore;
        setRead({ key, empty, ...merge(before, runs, next, isBehind) });
        setError(undefined);
      } catch (thrown) {
        if (!stop.signal.aborted) setError(toAgentError(thrown));
      }
      if (busy.current === stop) busy.current = undefined;
    },
    [server, key],
  );

  useEffect(() => {
    void load(undefined);
    return () => busy.current?.abort();
  }, [load]);
  const reload = useCallback(() => {
    if (busy.current === undefined) void load(undefined);
  }, [load]);
  useRunChanges(server, reload);
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
      runs: read?.runs,
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
  { runs, hasMore, isStale }: RunPages,
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
  useRunChanges(server, reload, undefined, () => tookMs.current * COUNT_PAUSES);
  const total = value?.key === key ? value.total : undefined;
  /** Of the list before, as long as that one is shown. */
  const shown = useRef<string>(undefined);
  if (runs !== undefined && !isStale) {
    // `12`, or `10000+`.
    const isOpen = hasMore && total?.endsWith("+") !== false;
    const count = hasMore && total !== undefined ? Number.parseInt(total, 10) : runs.length;
    shown.current = `${count.toLocaleString()}${isOpen ? "+" : ""}`;
  }
  return shown.current;
}

/** What runs are searched by. The server counts those of other lists, and those that failed. */
const SEARCHED = ["q", "error_code", "updated_after", "metadata"];

/** So many times as long as a count took the page waits before the next one: most of the time the server does something else. */
const COUNT_PAUSES = 10;

const PAGE = 100;

/** After so many pages without a run a person decides whether the search goes on: the server looks at thousands of runs for each. */
const MOST_EMPTY = 10;

/** When the run at a place of the list was updated: the list's cursors begin with it. */
function timeOf(cursor: string | undefined): string | undefined {
  const ms = Number.parseInt(cursor ?? "", 10);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** The time some hours ago, to a minute, so that the list since then stays the same list while it is looked at. */
export function hoursAgo(hours: number): string {
  return new Date(Math.floor(Date.now() / 60_000 - hours * 60) * 60_000).toISOString();
}

/** Joins a page with what was read before: behind it, or, for the first page, in front of it. */
function merge(
  before: Read | undefined,
  runs: readonly RunSummary[],
  next: string | undefined,
  isBehind: boolean,
): Pick<Read, "runs" | "next"> {
  if (before === undefined) return { runs, next };
  // The beginning of a search has nothing, as before.
  if (!isBehind && runs.length === 0 && next !== undefined) return before;
  const ids = new Set(runs.map((run) => run.run_id));
  if (isBehind) return { runs: [...before.runs.filter((run) => !ids.has(run.run_id)), ...runs], next };
  const isLonger = before.runs.length > runs.length && next !== undefined;
  // Without a common run there may be others in between.
  if (!isLonger || !before.runs.some((run) => ids.has(run.run_id))) return { runs, next };
  const last = runs.at(-1)?.updated_at ?? "";
  const rest = before.runs.filter((run) => !ids.has(run.run_id) && run.updated_at <= last);
  return { runs: [...runs, ...rest], next: before.next };
}
