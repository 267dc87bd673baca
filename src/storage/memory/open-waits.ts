import type { WaitMark } from "../../ports/log-batch.ts";
import type { WaitEntry, WaitPage } from "../../ports/log-entries.ts";
import type { WaitQuery } from "../../ports/log-queries.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { compareWaits, toWaitPage, waitPositionOf } from "../shared/lists.ts";
import type { MemoryRun } from "./memory-run.ts";

/** The open waits of all runs. */
export class OpenWaits {
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

  list(query: WaitQuery): WaitPage {
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
