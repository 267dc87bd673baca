import { Fenced } from "../../../ports/event-log.ts";
import type { Cursor } from "../../../ports/event-log.ts";
import type { Batch, RunRow } from "../../../ports/log-batch.ts";
import type { RunId } from "../../../protocol/ids.ts";
import { countEvents } from "../../../protocol/events/texts.ts";

/** A run that this log has claimed, including the appends so far. */
export interface OwnedRun {
  readonly runId: RunId;
  readonly epoch: number;
  /** The number of appends so far: with the epoch it names one state of the run. */
  appends: number;
  head: number;
  records: number;
  readonly removed: boolean;
  /** Whether something was appended. */
  stored: boolean;
  /** The stored values of its row, as far as they are known; the same object need not be sent again. */
  row: Partial<RunRow>;
  /** The running append or removal; never rejects. */
  pending: Promise<void> | undefined;
  /** Whether the claim still holds, as far as this node knows. */
  isHeld: boolean;
}

/** The runs that this log has claimed. */
export class Claims {
  readonly #runs = new Map<RunId, OwnedRun>();

  /** The number of acknowledged appends of each run. */
  get appends(): ReadonlyMap<RunId, number> {
    return new Map(Array.from(this.#runs.values(), ({ runId, appends }) => [runId, appends]));
  }

  get(runId: RunId): OwnedRun | undefined {
    return this.#runs.get(runId);
  }

  /** Fences the owner of a run within this process; resolves when its running append has settled. */
  async fence(runId: RunId): Promise<void> {
    for (let run = this.#runs.get(runId); run !== undefined; run = this.#runs.get(runId)) {
      run.isHeld = false;
      if (run.pending === undefined) return;
      await run.pending;
    }
  }

  take(run: OwnedRun): void {
    this.#runs.set(run.runId, run);
  }

  /** The run of a cursor that may append now; `Fenced` for any other cursor. */
  owned({ runId, epoch, head, records }: Cursor): OwnedRun {
    const run = this.#runs.get(runId);
    if (run === undefined || run.epoch !== epoch || !run.isHeld) throw toFenced(runId);
    if (run.head !== head || run.records !== records || run.pending !== undefined) {
      throw new Fenced(`run ${runId} has moved on from event ${head}`);
    }
    return run;
  }

  /** Forgets a claim that holds no longer. */
  drop(run: OwnedRun): void {
    run.isHeld = false;
    if (this.#runs.get(run.runId) === run) this.#runs.delete(run.runId);
  }
}

export function toFenced(runId: RunId): Fenced {
  return new Fenced(`run ${runId} has another owner`);
}

/** The database has fewer appends of a run than this node knows of: it has lost acknowledged ones. */
export class LostAppends extends Fenced {
  constructor(runId: RunId) {
    super(`the database has lost acknowledged events of run ${runId}`);
  }
}

/** Updates a run after a committed batch. */
export function advance(run: OwnedRun, { events, records, run: row }: Batch): void {
  run.appends += 1;
  run.head += countEvents(events);
  run.records += records.length;
  if (row === undefined) return;
  run.stored = true;
  run.row = row;
}
