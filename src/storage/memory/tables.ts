import type { RequestMark, WaitMark } from "../../ports/log-batch.ts";
import type { RequestEntry, WaitEntry, WaitEntryPage } from "../../ports/log-entries.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { applyMark, toRemovedRequest } from "../shared/entries.ts";
import type { WaitEntryQuery } from "../../ports/log-queries.ts";
import { compareWaits, toWaitPage, waitPositionOf } from "../shared/lists.ts";
import type { MemoryRun } from "./memory-run.ts";

/** The requests of all runs. Of the requests of removed runs only the ids are kept. */
export class RequestTable {
  readonly #entries = new Map<RequestId, RequestEntry>();
  readonly #removed = new Map<RequestId, RunId>();
  readonly #open = new Set<RequestId>();

  readonly lookup = (requestId: RequestId): RequestEntry | undefined => {
    const removedFrom = this.#removed.get(requestId);
    return removedFrom === undefined
      ? this.#entries.get(requestId)
      : toRemovedRequest(requestId, removedFrom);
  };

  /** Computes the new entries of requests without storing them. */
  mark(runId: RunId, marks: readonly RequestMark[]): ReadonlyMap<RequestId, RequestEntry> {
    const marked = new Map<RequestId, RequestEntry>();
    for (const mark of marks) {
      const entry = marked.get(mark.requestId) ?? this.lookup(mark.requestId);
      marked.set(mark.requestId, applyMark(entry, runId, mark));
    }
    return marked;
  }

  store(requestId: RequestId, entry: RequestEntry): void {
    this.#entries.set(requestId, entry);
    if (entry.phase === "completed") this.#open.delete(requestId);
    else this.#open.add(requestId);
  }

  /** The entries that are not completed. */
  open(): readonly RequestEntry[] {
    const entries = [...this.#open].map((requestId) => this.#entries.get(requestId));
    return entries.filter((entry) => entry !== undefined);
  }

  /** Keeps only the ids of the requests of a run. */
  remove(runId: RunId, requestIds: Iterable<RequestId>): void {
    for (const requestId of requestIds) {
      this.#entries.delete(requestId);
      this.#removed.set(requestId, runId);
      this.#open.delete(requestId);
    }
  }

  /** The ids of the requests of a removed run. */
  removedOf(runId: RunId): readonly RequestId[] {
    return [...this.#removed].filter(([, owner]) => owner === runId).map(([requestId]) => requestId);
  }
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
    const { agent, runId, requestId } = query;
    const after = waitPositionOf(query);
    const found: WaitEntry[] = [];
    for (const id of runId === undefined ? this.#waiting : [runId]) {
      const run = this.#runs.get(id);
      if (agent !== undefined && run?.row?.agent !== agent) continue;
      for (const wait of run?.waits?.values() ?? []) {
        const isOther = requestId !== undefined && wait.requestId !== requestId;
        if (!isOther && (after === undefined || compareWaits(wait, after) > 0)) found.push(wait);
      }
    }
    return toWaitPage(found.sort(compareWaits).slice(0, query.limit + 1), query);
  }

  #note(runId: RunId, run: MemoryRun): void {
    if (run.waits !== undefined && run.waits.size > 0) this.#waiting.add(runId);
    else this.#waiting.delete(runId);
  }
}
