import type { AgentError } from "../../errors.ts";
import type { RunSummary } from "../../protocol/answers/status.ts";
import type { OpenWait } from "../call-api.ts";
import type { Client, RunsQuery, WaitsQuery } from "../client-api.ts";
import { pause } from "../../shared/clock.ts";
import { systemClock } from "../wire/clock.ts";
import { hasCode } from "../wire/problem.ts";

/** A list of a server as a page shows it. */
export interface ListState<Item> {
  readonly items: readonly Item[];
  /** Whether it is read for the first time. */
  readonly isLoading: boolean;
  /** Whether the server has more items than were read; `more` reads the next page. */
  readonly hasMore: boolean;
  /** Why it could not be read, or is no longer kept current. */
  readonly error: AgentError | undefined;
}

/** A list of a server that is kept current while it has a subscriber. */
export interface LiveList<Item> {
  /** Calls the listener after each change; returns the end of the subscription. */
  subscribe(listener: () => void): () => void;
  /** The same object until the next change. */
  readonly state: ListState<Item>;
  /** Reads the next page. */
  more(): Promise<void>;
}

/** Which runs a list has. */
export type RunListQuery = Omit<RunsQuery, "cursor" | "signal">;

/** Which open questions a list has. */
export type WaitListQuery = Omit<WaitsQuery, "cursor" | "signal">;

/** The runs of a server, most recently updated first. */
export function createRunList(
  client: Pick<Client, "runs" | "watchRuns">,
  query: RunListQuery = {},
): LiveList<RunSummary> {
  return new WatchedList(client, query, async (cursor, signal) => {
    const { runs, next } = await client.runs({ ...query, ...(cursor !== undefined && { cursor }), signal });
    return { items: runs, next };
  });
}

/** The open questions of all runs, oldest first. It stays empty on a server that has no list of them. */
export function createWaitList(
  client: Pick<Client, "waits" | "watchRuns">,
  query: WaitListQuery = {},
): LiveList<OpenWait> {
  return new WatchedList(client, query, async (cursor, signal) => {
    const page = await client.waits({ ...query, ...(cursor !== undefined && { cursor }), signal });
    return { items: page?.waits ?? [], next: page?.next };
  });
}

/** A page of a list. */
interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: string | undefined;
}

type ReadPage<Item> = (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>;

/** Reads the pages of a list that are shown again when a run has changed, at most every 250 ms. */
class WatchedList<Item> implements LiveList<Item> {
  readonly #client: Pick<Client, "watchRuns">;
  readonly #agent: { readonly agent?: string };
  readonly #read: ReadPage<Item>;
  readonly #listeners = new Set<() => void>();
  #state: ListState<Item> = { items: [], isLoading: true, hasMore: false, error: undefined };
  #pages = 1;
  #watching: AbortController | undefined;
  /** The reading that runs; another one that is asked for begins after it. */
  #reading: Promise<void> | undefined;
  #isStale = false;

  constructor(
    client: Pick<Client, "watchRuns">,
    { agent }: { readonly agent?: string },
    read: ReadPage<Item>,
  ) {
    this.#client = client;
    this.#agent = agent === undefined ? {} : { agent };
    this.#read = read;
  }

  get state(): ListState<Item> {
    return this.#state;
  }

  // Properties, because React calls them without the list.
  readonly subscribe = (listener: () => void): (() => void) => {
    const notify = (): void => listener();
    this.#listeners.add(notify);
    if (this.#watching === undefined) this.#watch();
    return () => {
      this.#listeners.delete(notify);
      if (this.#listeners.size > 0) return;
      this.#watching?.abort();
      this.#watching = undefined;
      this.#reading = undefined;
    };
  };

  readonly more = async (): Promise<void> => {
    if (!this.#state.hasMore || this.#watching === undefined) return;
    this.#pages += 1;
    await this.#refresh(this.#watching.signal);
  };

  #watch(): void {
    const watching = new AbortController();
    const { signal } = watching;
    this.#watching = watching;
    const watch = async (): Promise<void> => {
      await this.#refresh(signal);
      // The stream begins with the newest rows, so nothing that changes in between is missed.
      for await (const _ of this.#client.watchRuns({ ...this.#agent, signal })) void this.#refresh(signal);
    };
    watch().catch((thrown: unknown) => {
      // A server without a stream of runs has a list that does not change by itself.
      if (signal.aborted || hasCode(thrown, "not_found")) return;
      this.#show({ error: thrown as AgentError });
    });
  }

  /** Reads the list again. What is asked for while it is read is one more reading. */
  #refresh(signal: AbortSignal): Promise<void> {
    this.#isStale = true;
    if (this.#reading) return this.#reading;
    const reading = this.#readAll(signal).finally(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    return (this.#reading = reading);
  }

  async #readAll(signal: AbortSignal): Promise<void> {
    while (this.#isStale && !signal.aborted) {
      this.#isStale = false;
      try {
        const items: Item[] = [];
        let next: string | undefined;
        for (let page = 0; page === 0 || (page < this.#pages && next !== undefined); page += 1) {
          const read = await this.#read(next, signal);
          items.push(...read.items);
          next = read.next;
        }
        this.#show({ items, hasMore: next !== undefined, error: undefined });
      } catch (thrown) {
        if (signal.aborted) return;
        this.#show({ error: thrown as AgentError });
      }
      await pause(systemClock, PAUSE_MS, signal).catch(() => {});
    }
  }

  #show(change: Partial<ListState<Item>>): void {
    this.#state = { ...this.#state, isLoading: false, ...change };
    for (const listener of Array.from(this.#listeners)) listener();
  }
}

const PAUSE_MS = 250;
