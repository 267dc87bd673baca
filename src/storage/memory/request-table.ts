import type { RequestMark } from "../../ports/log-batch.ts";
import type { RequestEntry } from "../../ports/log-entries.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { applyMark, toRemovedRequest } from "../shared/request-entry.ts";

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
