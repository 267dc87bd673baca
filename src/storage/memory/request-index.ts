import type { RequestEntry, RequestMark, SleepQuery } from "../../ports/log-index.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { applyMark, toRemovedRequest } from "../shared/request-entry.ts";

/** The entries of the requests of all runs. */
export class RequestIndex {
  readonly #entries = new Map<RequestId, RequestEntry>();
  /** Only the ids of removed runs' requests are kept. */
  readonly #removed = new Map<RequestId, RunId>();
  readonly #open = new Set<RequestId>();

  find(requestId: RequestId): RequestEntry | undefined {
    const removedFrom = this.#removed.get(requestId);
    return removedFrom === undefined
      ? this.#entries.get(requestId)
      : toRemovedRequest(requestId, removedFrom);
  }

  /** Computes the new entries of requests without storing them. */
  applyMarks(runId: RunId, marks: readonly RequestMark[]): ReadonlyMap<RequestId, RequestEntry> {
    const marked = new Map<RequestId, RequestEntry>();
    for (const mark of marks) {
      const entry = marked.get(mark.requestId) ?? this.find(mark.requestId);
      marked.set(mark.requestId, applyMark(entry, runId, mark));
    }
    return marked;
  }

  store(entry: RequestEntry): void {
    this.#entries.set(entry.requestId, entry);
    if (entry.phase === "completed") this.#open.delete(entry.requestId);
    else this.#open.add(entry.requestId);
  }

  remove(requestId: RequestId, runId: RunId): void {
    this.#entries.delete(requestId);
    this.#removed.set(requestId, runId);
    this.#open.delete(requestId);
  }

  /** The requests that have work to do without new input, oldest first. */
  open(): readonly RequestEntry[] {
    const entries = this.#openEntries();
    const begun = new Set(entries.filter(({ phase }) => phase !== "queued").map(({ runId }) => runId));
    return entries
      .filter(({ phase, runId, wakeAt }) =>
        phase === "queued" ? !begun.has(runId) : phase === "running" && wakeAt === undefined,
      )
      .sort((a, b) => a.createdAt - b.createdAt);
  }

  /** The sleeping requests, by wake time. */
  asleep({ after = -Infinity, notAfter = Infinity, limit }: SleepQuery): readonly RequestEntry[] {
    return this.#openEntries()
      .filter(({ wakeAt = -Infinity }) => wakeAt > after && wakeAt <= notAfter)
      .sort((a, b) => (a.wakeAt ?? 0) - (b.wakeAt ?? 0))
      .slice(0, limit);
  }

  #openEntries(): RequestEntry[] {
    const entries = [...this.#open].map((requestId) => this.#entries.get(requestId));
    return entries.filter((entry) => entry !== undefined);
  }
}
