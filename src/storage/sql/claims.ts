import { Fenced } from "../../ports/event-log.ts";
import type { Cursor } from "../../ports/event-log.ts";
import type { Batch, RunRow } from "../../ports/log-batch.ts";
import { countEvents } from "../../protocol/events/texts.ts";
import type { RunId } from "../../protocol/ids.ts";
import { Deferred } from "../../shared/deferred.ts";

/** A run that this log has claimed, including the acknowledged appends so far. */
export interface OwnedRun {
  readonly runId: RunId;
  readonly epoch: number;
  /** Whether the claim still holds, as far as this log knows. */
  isHeld: boolean;
  head: number;
  records: number;
  readonly removed: boolean;
  /** Whether something was appended. */
  stored: boolean;
  /** The stored values of its row, as far as they are known; the same object need not be sent again. */
  row: Partial<RunRow>;
  /** The end of the running append or removal, however it ends. */
  pending: Deferred<void> | undefined;
}

/** The runs that this log has claimed. */
export class Claims<Run extends OwnedRun> {
  readonly #runs = new Map<RunId, Run>();
  /** The runs that cannot be claimed at present. */
  readonly #barred = new Map<RunId, Deferred<void>>();

  get(runId: RunId): Run | undefined {
    return this.#runs.get(runId);
  }

  get all(): Iterable<Run> {
    return this.#runs.values();
  }

  /** Keeps an unclaimed run from being claimed until the returned function is called. */
  bar(runId: RunId): () => void {
    const barred = new Deferred<void>();
    this.#barred.set(runId, barred);
    return () => {
      this.#barred.delete(runId);
      barred.resolve();
    };
  }

  isBarred(runId: RunId): boolean {
    return this.#barred.has(runId);
  }

  /** Fences the owner of a run within this process; resolves when its running commit has settled. */
  async fence(runId: RunId): Promise<void> {
    await this.#barred.get(runId)?.promise;
    for (let run = this.#runs.get(runId); run !== undefined; run = this.#runs.get(runId)) {
      run.isHeld = false;
      if (run.pending === undefined) return;
      await run.pending.promise;
    }
  }

  take(run: Run): void {
    this.#runs.set(run.runId, run);
  }

  /** The run of a cursor that may append now; `Fenced` for any other cursor. */
  owned({ runId, epoch, head, records }: Cursor): Run {
    const run = this.#runs.get(runId);
    if (run === undefined || run.epoch !== epoch || !run.isHeld) throw toFenced(runId);
    if (run.head !== head || run.records !== records || run.pending !== undefined) {
      throw new Fenced(`run ${runId} has moved on from event ${head}`);
    }
    return run;
  }

  /** Ends a claim, if it is the current one and holds. Returns its run. */
  release({ runId, epoch }: Cursor): Run | undefined {
    const run = this.#runs.get(runId);
    if (run?.epoch !== epoch || !run.isHeld) return undefined;
    run.isHeld = false;
    return run;
  }

  /** Forgets a claim that holds no longer. Returns whether it was the newest one of its run. */
  drop(run: Run): boolean {
    run.isHeld = false;
    return this.#runs.get(run.runId) === run && this.#runs.delete(run.runId);
  }
}

export function toFenced(runId: RunId): Fenced {
  return new Fenced(`run ${runId} has another owner`);
}

/** The place that a batch follows: the end of its run, or the base that moves the run there. */
export function startOfBatch(
  { head, records }: OwnedRun,
  { base }: Batch,
): { readonly head: number; readonly records: number } {
  if (base === undefined || base.head <= head) return { head, records };
  return { head: base.head, records: base.records };
}

/** Updates a run after a committed batch. */
export function advance(run: OwnedRun, batch: Batch): void {
  const { events, records, run: row } = batch;
  const place = startOfBatch(run, batch);
  run.head = place.head + countEvents(events);
  run.records = place.records + records.length;
  run.stored = true;
  if (row !== undefined) run.row = row;
}
