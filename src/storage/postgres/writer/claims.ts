import { Fenced } from "../../../ports/event-log.ts";
import type { Cursor } from "../../../ports/event-log.ts";
import type { Batch, RunRow } from "../../../ports/log-batch.ts";
import type { RunId } from "../../../protocol/ids.ts";
import { countEvents } from "../../../protocol/events/texts.ts";
import type { RunEntry, Snapshot } from "../../../ports/log-entries.ts";
import type { Database } from "../connection/database.ts";
import { toRun, toSnapshot } from "../reader/row-types.ts";
import type { RunColumns, SnapshotColumns } from "../reader/row-types.ts";

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

/** The node that claims a run, and the nodes whose runs it does not take. */
interface NewClaim {
  readonly node: string;
  readonly spared: readonly string[];
  /** The channel on which the earlier owner hears of the claim. */
  readonly channel: string;
}

/** A run as its owner needs it. */
interface ClaimedRow extends OwnColumns {
  readonly epoch: number;
  readonly entry: RunEntry | undefined;
  readonly snapshot: Snapshot | undefined;
}

interface OwnColumns {
  readonly appends: number;
  readonly head: number;
  readonly records: number;
  readonly stored: boolean;
  readonly removed: boolean;
}

type ClaimColumns = RunColumns & SnapshotColumns & OwnColumns;

/** Claims a run in the database, unless one of the spared nodes holds it; then it returns that node. */
export async function claimRun(
  database: Database,
  runId: RunId,
  { node, spared, channel }: NewClaim,
): Promise<ClaimedRow | { readonly holder: string }> {
  const [row] = await database.ask<{
    holder: string | null;
    claim: number | null;
    claimed: ClaimColumns | null;
  }>("SELECT * FROM troupe.claim_1($1, $2, $3, $4)", [runId, node, spared, channel]);
  if (row === undefined || row.holder !== null) return { holder: row?.holder ?? "" };
  const { claim: epoch, claimed } = row;
  // Another node has released the run without an append during the claim, which deletes its row.
  if (epoch === null || claimed === null) return claimRun(database, runId, { node, spared, channel });
  const { appends, head, records, stored, removed } = claimed;
  return {
    epoch,
    appends,
    head,
    records,
    stored,
    removed,
    entry: stored ? toRun(claimed) : undefined,
    snapshot: toSnapshot(claimed),
  };
}

/** Releases claims in the database, many at once. What fails is left: the next claim of the run replaces it. */
export class Releases {
  readonly #database: Database;
  readonly #runs: OwnedRun[] = [];
  #sending: Promise<void> | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  add(run: OwnedRun): void {
    this.#runs.push(run);
    this.#sending ??= this.#send();
  }

  /** Resolves when all are sent. */
  async settled(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending;
  }

  async #send(): Promise<void> {
    // Those of one turn of the event loop together.
    await Promise.resolve();
    while (this.#runs.length > 0) {
      const items = this.#runs.splice(0, AT_ONCE).map(({ runId, epoch }) => [runId, epoch]);
      await this.#database.ask("SELECT troupe.release_1($1)", [JSON.stringify(items)]).catch(() => {
        // A database that has not answered for the whole time of `ask` does not get the others one after the other.
        this.#runs.length = 0;
      });
    }
    this.#sending = undefined;
  }
}

const AT_ONCE = 500;
