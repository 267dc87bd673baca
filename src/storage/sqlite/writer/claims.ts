import { Fenced } from "../../../ports/event-log.ts";
import type { Batch, Cursor } from "../../../ports/event-log.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import type { Json, JsonObject } from "../../../protocol/json.ts";

/** A run that is claimed, and what its owner's appends have made of it so far. */
export interface OwnedRun {
  readonly runId: RunId;
  readonly rid: number;
  /** The claim in force; 0 when it was released. */
  epoch: number;
  head: number;
  records: number;
  readonly removed: boolean;
  /** Whether its removal was begun: what is left of it then may be gone at any moment. */
  leaving: boolean;
  /** Whether it has a row in the database. */
  stored: boolean;
  /** The append or the removal under way; never fails. */
  pending: Promise<void> | undefined;
  /** What the row holds, to be sent again only when it changes. */
  initialInput?: Json;
  metadata?: JsonObject;
  /** Requests that this claim has marked and that have not completed. */
  readonly requests: Set<RequestId>;
}

/** Which runs are claimed at present. */
export class Claims {
  readonly #runs = new Map<RunId, OwnedRun>();
  #epoch: number;

  /** Every claim of an opened log is above every claim of the log as it was opened before. */
  constructor(directoryEpoch: number) {
    this.#epoch = directoryEpoch * CLAIMS_PER_EPOCH;
  }

  get(runId: RunId): OwnedRun | undefined {
    return this.#runs.get(runId);
  }

  /** Fences the present owner of a run; resolves when nothing of it is under way any more. */
  async fence(runId: RunId): Promise<void> {
    for (;;) {
      const run = this.#runs.get(runId);
      if (run === undefined) return;
      run.epoch = 0;
      if (run.pending === undefined) return;
      await run.pending;
    }
  }

  take(run: Omit<OwnedRun, "epoch">): OwnedRun {
    this.#epoch += 1;
    const owned = { ...run, epoch: this.#epoch };
    this.#runs.set(run.runId, owned);
    return owned;
  }

  /** Finds the run of a cursor that may append now; `Fenced` for any other. */
  owned({ runId, epoch, head, records }: Cursor): OwnedRun {
    const run = this.#runs.get(runId);
    if (run === undefined || run.epoch !== epoch) {
      throw new Fenced(`run ${runId} has another owner`);
    }
    if (run.head !== head || run.records !== records || run.pending !== undefined) {
      throw new Fenced(`run ${runId} has moved on from event ${head}`);
    }
    return run;
  }

  /** Gives up a claim, if it is the one in force; answers whether nothing is left of it. */
  release({ runId, epoch }: Cursor): boolean {
    const run = this.#runs.get(runId);
    if (run?.epoch !== epoch) return false;
    run.epoch = 0;
    return this.settle(run);
  }

  /** Forgets a run without an owner, unless something is still under way. */
  settle(run: OwnedRun): boolean {
    if (run.epoch !== 0 || run.pending !== undefined) return false;
    if (this.#runs.get(run.runId) !== run) return false;
    return this.#runs.delete(run.runId);
  }

  /** Fences all owners. */
  clear(): readonly RunId[] {
    const runIds = [...this.#runs.keys()];
    for (const run of this.#runs.values()) run.epoch = 0;
    this.#runs.clear();
    return runIds;
  }
}

/** Brings a run up to what the log now holds of it. */
export function advance(run: OwnedRun, { events, records, run: row, requests = [] }: Batch): void {
  run.head += events.length;
  run.records += records.length;
  run.stored = true;
  if (row !== undefined) {
    run.initialInput = row.initialInput;
    run.metadata = row.metadata;
  }
  for (const { requestId, phase } of requests) {
    if (phase === "completed") run.requests.delete(requestId);
    else run.requests.add(requestId);
  }
}

/** More claims than one process makes, and so few that the epochs of all processes stay exact numbers. */
const CLAIMS_PER_EPOCH = 2 ** 32;
