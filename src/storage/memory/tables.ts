import type { RequestMark, WaitMark } from "../../ports/log-batch.ts";
import type { RequestEntry, WaitEntry, WaitEntryPage } from "../../ports/log-entries.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { DEFAULT_OWNER, ownerOf } from "../../ports/principal.ts";
import { fromOwnedKey, toOwnedKey } from "../shared/owned-keys.ts";
import { applyMark, toRemovedRequest } from "../shared/entries.ts";
import type { WaitEntryQuery } from "../../ports/log-queries.ts";
import { compareWaits, totalOf, toWaitPage, waitPositionOf } from "../shared/lists.ts";
import type { MemoryRun } from "./memory-run.ts";

/** The requests of all runs. Of the requests of removed runs only the ids are kept. */
export class RequestTable {
  /** By their ids with their owners. */
  readonly #entries = new Map<string, RequestEntry>();
  readonly #removed = new Map<string, RunId>();
  readonly #open = new Set<string>();
  /** The keys that other owners than `default` have for an id, in alphabetical order. */
  readonly #others = new Map<RequestId, string[]>();
  /** Those with a wake time, by that time. */
  readonly #waking: RequestEntry[] = [];

  readonly lookup = (key: string): RequestEntry | undefined => {
    const removedFrom = this.#removed.get(key);
    if (removedFrom === undefined) return this.#entries.get(key);
    const { name, owner } = fromOwnedKey(key);
    return toRemovedRequest(name, removedFrom, owner ?? DEFAULT_OWNER);
  };

  /** Finds a request; without an owner, that of `default` or the first other one. */
  find(requestId: RequestId, owner?: string): RequestEntry | undefined {
    const found = this.lookup(toOwnedKey(requestId, owner));
    const [other] = found === undefined && owner === undefined ? (this.#others.get(requestId) ?? []) : [];
    return other === undefined ? found : this.lookup(other);
  }

  /** Computes the new entries of requests without storing them. */
  mark(runId: RunId, owner: string, marks: readonly RequestMark[]): ReadonlyMap<string, RequestEntry> {
    const marked = new Map<string, RequestEntry>();
    for (const mark of marks) {
      const key = toOwnedKey(mark.requestId, owner);
      const entry = marked.get(key) ?? this.lookup(key);
      const next = applyMark(entry, runId, mark);
      marked.set(key, owner === DEFAULT_OWNER ? next : { ...next, owner });
    }
    return marked;
  }

  store(key: string, entry: RequestEntry): void {
    if (entry.owner !== undefined && !this.#entries.has(key)) {
      const keys = this.#others.get(entry.requestId) ?? [];
      this.#others.set(entry.requestId, [...keys, key].sort());
    }
    this.#forget(this.#entries.get(key));
    this.#entries.set(key, entry);
    if (isWaking(entry)) this.#waking.splice(this.#placeOf(entry.wakeAt), 0, entry);
    if (entry.phase === "completed") this.#open.delete(key);
    else this.#open.add(key);
  }

  /** The entries that are not completed. */
  open(): readonly RequestEntry[] {
    const entries = [...this.#open].map((key) => this.#entries.get(key));
    return entries.filter((entry) => entry !== undefined);
  }

  /** The entries that are not completed whose wake time is after one time and not after another, by that time. */
  *waking(afterMs: number, notAfterMs: number): Iterable<RequestEntry> {
    const end = this.#placeOf(notAfterMs);
    for (let at = this.#placeOf(afterMs); at < end; at += 1) yield this.#waking[at] as RequestEntry;
  }

  /** How many entries have a wake time up to this one. */
  #placeOf(wakeMs: number): number {
    let [low, high] = [0, this.#waking.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#waking[middle]?.wakeAt ?? 0) <= wakeMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #forget(entry: RequestEntry | undefined): void {
    if (entry === undefined || !isWaking(entry)) return;
    // Of those with one wake time, the first ones go first.
    const at = this.#waking.indexOf(entry, this.#placeOf(entry.wakeAt - 1));
    if (at >= 0) this.#waking.splice(at, 1);
  }

  /** Keeps only the ids of the requests of a run. */
  remove(runId: RunId, keys: Iterable<string>): void {
    for (const key of keys) {
      this.#forget(this.#entries.get(key));
      this.#entries.delete(key);
      this.#removed.set(key, runId);
      this.#open.delete(key);
    }
  }

  /** The ids of the requests of a removed run, with their owner. */
  removedOf(runId: RunId): readonly string[] {
    return [...this.#removed].filter(([, from]) => from === runId).map(([key]) => key);
  }
}

function isWaking(entry: RequestEntry): entry is RequestEntry & { readonly wakeAt: number } {
  return entry.wakeAt !== undefined && entry.phase !== "completed";
}

/** The open waits of all runs. */
export class WaitTable {
  readonly #runs: ReadonlyMap<RunId, MemoryRun>;
  /** The runs with open waits. */
  readonly #waiting = new Set<RunId>();

  constructor(runs: ReadonlyMap<RunId, MemoryRun>) {
    this.#runs = runs;
  }

  apply(runId: RunId, run: MemoryRun, marks: readonly WaitMark[]): void {
    for (const { closed = false, ...mark } of marks) {
      if (closed) run.waits?.delete(mark.waitId);
      else (run.waits ??= new Map()).set(mark.waitId, { ...mark, runId });
    }
    this.#note(runId, run);
  }

  /** Closes the waits of a request that has ended. */
  close(runId: RunId, run: MemoryRun, requestId: RequestId): void {
    for (const [waitId, wait] of run.waits ?? []) if (wait.requestId === requestId) run.waits?.delete(waitId);
    this.#note(runId, run);
  }

  remove(runId: RunId): void {
    this.#waiting.delete(runId);
  }

  list(query: WaitEntryQuery): WaitEntryPage {
    const { agent, owner, runId, requestId } = query;
    const after = waitPositionOf(query);
    const found: WaitEntry[] = [];
    let count = 0;
    for (const id of runId === undefined ? this.#waiting : [runId]) {
      const run = this.#runs.get(id);
      if (agent !== undefined && run?.row?.agent !== agent) continue;
      if (owner !== undefined && ownerOf(run?.row ?? {}) !== owner) continue;
      for (const wait of run?.waits?.values() ?? []) {
        if (requestId !== undefined && wait.requestId !== requestId) continue;
        count += 1;
        if (after === undefined || compareWaits(wait, after) > 0) found.push(wait);
      }
    }
    const page = toWaitPage(found.sort(compareWaits).slice(0, query.limit + 1), query);
    return { ...page, ...totalOf(query, () => count) };
  }

  #note(runId: RunId, run: MemoryRun): void {
    if (run.waits !== undefined && run.waits.size > 0) this.#waiting.add(runId);
    else this.#waiting.delete(runId);
  }
}
