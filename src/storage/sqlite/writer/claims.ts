import { Fenced } from "../../../ports/event-log.ts";
import type { Cursor } from "../../../ports/event-log.ts";
import type { Batch, RunRow } from "../../../ports/log-batch.ts";
import type { LastTurn } from "../../../protocol/answers/status.ts";
import type { Usage } from "../../../protocol/events/events.ts";
import { countEvents } from "../../../protocol/events/texts.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import type { Json, JsonObject } from "../../../protocol/json.ts";
import type { EventList } from "../../shared/event-list.ts";

/** The values of a stored row that are sent again only when they change. */
export interface RowValues {
  readonly agent: string;
  readonly createdAt: number;
  readonly initialInput: Json;
  readonly metadata: JsonObject;
  readonly lastTurn: LastTurn | undefined;
  readonly usage: Usage | undefined;
}

/** A claimed run, including its owner's appends so far. Without a stored row it has no values of one. */
export interface OwnedRun extends Partial<RowValues> {
  readonly runId: RunId;
  /** 0 until the first append, so that runs are numbered in the order of their creation. */
  rid: number;
  /** The current claim; 0 after its release. */
  epoch: number;
  head: number;
  records: number;
  readonly removed: boolean;
  /** Whether its removal has started; the rest of the run can disappear at any time then. */
  leaving: boolean;
  /** Whether it has a row in the database. */
  stored: boolean;
  /** The running append or removal. */
  pending: PendingCommit | undefined;
  /** The newest committed events, which the database has in no chunk yet. */
  recent: EventList;
  /** Their bytes in the database. */
  recentBytes: number;
  /** Incomplete requests that this claim has marked. */
  readonly requests: Set<RequestId>;
}

/** A running commit of a run. It has a promise only if something waits for it, because most have no waiter. */
export class PendingCommit {
  #waiter: PromiseWithResolvers<void> | undefined;

  /** Resolves at its end, however it ends. */
  get ended(): Promise<void> {
    return (this.#waiter ??= Promise.withResolvers<void>()).promise;
  }

  end(): void {
    this.#waiter?.resolve();
  }
}

/** The currently claimed runs. */
export class Claims {
  readonly #runs = new Map<RunId, OwnedRun>();
  #epoch: number;

  /** Claims of this process are above all claims of earlier openings of the log. */
  constructor(directoryEpoch: number) {
    this.#epoch = directoryEpoch * CLAIMS_PER_EPOCH;
  }

  get(runId: RunId): OwnedRun | undefined {
    return this.#runs.get(runId);
  }

  /** Fences the current owner of a run; resolves when its running append has settled. */
  async fence(runId: RunId): Promise<void> {
    for (;;) {
      const run = this.#runs.get(runId);
      if (run === undefined) return;
      run.epoch = 0;
      if (run.pending === undefined) return;
      await run.pending.ended;
    }
  }

  take(run: Omit<OwnedRun, "epoch">): OwnedRun {
    this.#epoch += 1;
    const owned = { ...run, epoch: this.#epoch };
    this.#runs.set(run.runId, owned);
    return owned;
  }

  /** The run of a cursor that may append now; `Fenced` for any other cursor. */
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

  /** Releases a claim if it is current. Returns whether no state of the run is left. */
  release({ runId, epoch }: Cursor): boolean {
    const run = this.#runs.get(runId);
    if (run?.epoch !== epoch) return false;
    run.epoch = 0;
    return this.settle(run);
  }

  /** The runs with recent events. */
  withRecent(): OwnedRun[] {
    return [...this.#runs.values()].filter((run) => !run.recent.isEmpty);
  }

  /** Removes a run without an owner, unless an append is still running or not all of its events are in chunks. */
  settle(run: OwnedRun): boolean {
    if (run.epoch !== 0 || run.pending !== undefined || !run.recent.isEmpty) return false;
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

export function valuesOf({ agent, createdAt, initialInput, metadata, lastTurn, usage }: RunRow): RowValues {
  return { agent, createdAt, initialInput, metadata, lastTurn, usage };
}

/** Updates a run after a committed batch. */
export function advance(run: OwnedRun, { events, records, run: row, requests = [] }: Batch): void {
  run.head += countEvents(events);
  run.records += records.length;
  run.stored = true;
  if (row !== undefined) Object.assign(run, valuesOf(row));
  for (const { requestId, phase } of requests) {
    if (phase === "completed") run.requests.delete(requestId);
    else run.requests.add(requestId);
  }
}

/** More claims than one process makes, and small enough that all epochs stay exact integers. */
const CLAIMS_PER_EPOCH = 2 ** 32;
