import { Fenced, Unavailable } from "../../../ports/event-log.ts";
import type { SeenRun } from "../../../ports/event-log.ts";
import type { RunEntry, Snapshot } from "../../../ports/log-entries.ts";
import type { Texts } from "../../../protocol/events/texts.ts";
import type { RunId } from "../../../protocol/ids.ts";
import { Gathered } from "../../../shared/gathered.ts";
import { toFenced } from "../../sql/claims.ts";
import type { OwnedRun } from "../../sql/claims.ts";
import type { RunColumns } from "../../sql/rows.ts";
import { toRun } from "../../sql/rows.ts";
import type { Database } from "../connection/database.ts";
import { stateOf } from "../connection/trouble.ts";
import { toRunSnapshot } from "../reader.ts";
import type { SnapshotColumns } from "../reader.ts";

/** A run that this log has claimed. */
export interface ClaimedRun extends OwnedRun {
  /** The number of appends so far: with the epoch it names one state of the run. */
  appends: number;
  /** The newest small appends, which share a row until one follows that is more; `undefined` if none have been made since. */
  recent?: RecentAppends | undefined;
  /** It came from another database, and no append has shown yet that it still holds: another node may have claimed the run meanwhile. */
  isUnsure?: boolean;
  /** The node that claims the run with its first append, until that is committed: the database has nothing of the run before. */
  claimant?: string | undefined;
}

export interface RecentAppends {
  readonly characters: number;
  /** The texts at their end, which more texts of the speaker join. */
  readonly line: Texts | undefined;
}

/** The database has fewer appends of a run than this node knows of: it has lost acknowledged ones. */
export class LostAppends extends Fenced {
  constructor(runId: RunId) {
    super(`the database has lost acknowledged events of run ${runId}`, { hasLost: true });
  }
}

/** The shard of a run is being moved, or has moved to another database. Nothing was changed, and the claim of the run still holds. */
export class Moved extends Error {
  override readonly name = "Moved";

  constructor(runId: RunId, cause?: unknown) {
    super(`run ${runId} moves to another database`, { cause });
  }
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

export const CLAIM = "SELECT * FROM troupe.claim_3($1, $2, $3, $4)";

type ClaimColumns = RunColumns & SnapshotColumns & OwnColumns;

/** Claims a run in the database, unless one of the spared nodes holds it; then it returns that node. */
export async function claimRun(
  database: Database,
  runId: RunId,
  { node, spared, channel }: NewClaim,
): Promise<ClaimedRow | { readonly holder: string }> {
  const [row] = await database
    .ask<{
      holder: string | null;
      claim: number | null;
      claimed: ClaimColumns | null;
    }>(CLAIM, [runId, node, spared, channel])
    .catch((error: unknown) => {
      if (error instanceof Unavailable && stateOf(error.cause) === SHARD_IS_CLOSED)
        throw new Moved(runId, error);
      throw error;
    });
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
    snapshot: toRunSnapshot(claimed),
  };
}

/** Numbers for the claims of new runs, some of which are taken from the sequence of the database at once. */
export class ClaimNumbers {
  readonly #database: Database;
  #numbers: number[] = [];
  #taking: Promise<void> | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  async next(): Promise<number> {
    for (;;) {
      const number = this.#numbers.pop();
      if (number !== undefined) return number;
      this.#taking ??= this.#take().finally(() => {
        this.#taking = undefined;
      });
      await this.#taking;
    }
  }

  /** Drops those that are left: the database may have lost that it has given them. */
  drop(): void {
    this.#numbers = [];
  }

  async #take(): Promise<void> {
    const rows = await this.#database.ask<{ number: number }>(TAKE_NUMBERS, [NUMBERS_AT_ONCE]);
    this.#numbers = rows.map(({ number }) => number);
  }
}

const NUMBERS_AT_ONCE = 100;

const TAKE_NUMBERS = "SELECT nextval('troupe.epoch') AS number FROM generate_series(1, $1)";

/** Whether the shard of a run is being moved, or has moved to another database, with the claim of the run. */
export async function isMoved(database: Database, { runId, epoch }: ClaimedRun): Promise<boolean> {
  const [row] = await database.ask<{ moved: boolean }>(IS_MOVED, [runId, epoch]);
  return row?.moved === true;
}

const IS_MOVED = `
  SELECT coalesce((SELECT run.epoch = -$2::bigint FROM troupe.run WHERE run.id = $1),
    EXISTS (SELECT FROM troupe.closed WHERE shard = troupe.shard_of_1($1))) AS moved`;

/** What `troupe.claim_3` fails with. */
const SHARD_IS_CLOSED = "TR002";

/** A claimed run that is to be removed. */
interface Removal {
  readonly run: ClaimedRun;
  /** Whether what the audit trail has of it is removed too. */
  readonly erases: boolean;
  /** Whether the claim held and the run is removed. */
  isDone: boolean;
}

/**
 * Removes claimed runs. Those that wait while a statement runs go together in the next one. What a large run has is deleted
 * in pieces, each within the time of a statement, but in one transaction: a run is removed as a whole or not at all.
 */
export class Removals {
  readonly #database: Database;
  readonly #gathered: Gathered<Removal> = new Gathered((removals) => this.#removeAll(removals), {
    weigh: ({ run }) => run.appends,
    limit: PIECE_APPENDS,
  });

  constructor(database: Database) {
    this.#database = database;
  }

  /** Removes a run; resolves with whether its claim held. */
  async remove(run: ClaimedRun, { erases }: { readonly erases: boolean }): Promise<boolean> {
    const removal: Removal = { run, erases, isDone: false };
    if (run.appends > PIECE_APPENDS) await this.#removeLarge(removal);
    else await this.#gathered.add(removal);
    return removal.isDone;
  }

  /** Removes runs that are idle, as they were seen; returns their ids. After a lost answer a run that is removed is not among them. */
  async removeIdle(seen: readonly SeenRun[]): Promise<readonly RunId[]> {
    if (seen.length === 0) return [];
    const heads = seen.map(({ head }) => String(head));
    const times = seen.map(({ updatedAt }) => String(updatedAt));
    const ids = seen.map(({ runId }) => runId);
    const rows = await this.#database.ask<{ id: RunId }>(REMOVE_IDLE, [ids, heads, times]);
    return rows.map(({ id }) => id);
  }

  async #removeAll(removals: readonly Removal[]): Promise<void> {
    const rows = await this.#database.ask<{ id: RunId }>(REMOVE, [toItems(removals)]);
    const done = new Set(rows.map(({ id }) => id));
    for (const removal of removals) removal.isDone = done.has(removal.run.runId);
  }

  async #removeLarge(removal: Removal): Promise<void> {
    const { runId } = removal.run;
    try {
      await this.#database.transact(async ({ query }) => {
        let last: { readonly head: number; readonly n: number } | undefined = { head: -1, n: -1 };
        while (last !== undefined) {
          const place: readonly number[] = [last.head, last.n, PIECE_APPENDS];
          [last] = await query<typeof last>(DELETE_PIECE, [runId, ...place]);
        }
        const [row] = await query<{ id: RunId }>(REMOVE, [toItems([removal])]);
        // Rolls the deletions back.
        if (row === undefined) throw toFenced(runId);
      });
      removal.isDone = true;
    } catch (error) {
      if (!(error instanceof Fenced)) throw error;
    }
  }
}

function toItems(removals: readonly Removal[]): string {
  return JSON.stringify(removals.map(({ run, erases }) => [run.runId, run.epoch, run.appends, erases]));
}

/** Returns the runs whose claims held. They are locked in the order of their ids, as in other statements. */
const REMOVE = `
  WITH given AS MATERIALIZED (
    SELECT value->>0 AS id, (value->1)::bigint AS epoch, (value->2)::bigint AS appends, (value->3)::boolean AS erases
      FROM jsonb_array_elements($1::jsonb) ORDER BY (value->>0) COLLATE "C"
  ), removed AS MATERIALIZED (
    SELECT id, erases, troupe.remove_1(id, epoch, appends) AS done FROM given
  ), erased AS (
    DELETE FROM troupe.audit USING removed WHERE audit.run = removed.id AND removed.erases AND removed.done
  )
  SELECT id FROM removed WHERE done`;

/**
 * Removes runs as `troupe.remove_1` does, all in one statement. Each question about another table is one of its own, so that it is asked of
 * these runs only: a join may read the whole table. A run whose claim has changed since the questions were answered is left, and so is one that another
 * statement has locked.
 */
export const REMOVE_IDLE: string = `
  WITH given AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS given (id, head, updated_at)
  ), idle AS MATERIALIZED (
    SELECT run.id, run.epoch FROM given JOIN troupe.run ON run.id = given.id
      WHERE run.head = given.head AND run.updated_at = given.updated_at AND run.owner IS NULL AND run.epoch > 0
        AND run.stored AND NOT run.removed AND run.status = 0 AND run.agent <> '' AND run.snapshot IS NULL
        AND (SELECT true FROM troupe.request WHERE request.run = run.id AND (phase <> 3 OR request.started = completed) LIMIT 1) IS NULL
        ${["alias", "schedule", "reference", "outbox", "wait", "recent"]
          .map(
            (table) => `AND (SELECT true FROM troupe.${table} WHERE ${table}.run = run.id LIMIT 1) IS NULL`,
          )
          .join("\n        ")}
  ), locked AS MATERIALIZED (
    SELECT run.id FROM idle JOIN troupe.run ON run.id = idle.id WHERE run.epoch = idle.epoch AND run.owner IS NULL
      ORDER BY run.id FOR UPDATE OF run SKIP LOCKED
  ), removed AS (
    UPDATE troupe.run SET removed = true, epoch = nextval('troupe.epoch'), appends = appends + 1,
        head = 0, records = 0, bytes = 0, agent = '', created_at = 0,
        updated_at = (extract(epoch FROM clock_timestamp()) * 1000)::bigint, turns = 0, metadata = '{}',
        initial_input = 'null', started = NULL, last_turn = NULL, usage = NULL, base_head = 0, base_records = 0, base = NULL
      FROM locked WHERE run.id = locked.id RETURNING run.id
  ), forgotten AS (
    UPDATE troupe.request SET removed = true, created_at = 0, accepted_n = 0, accepted_after = 0, started = NULL, segment = NULL,
        completed = NULL, wake_at = NULL, rests = NULL, waiting_for = NULL
      FROM locked WHERE request.run = locked.id
  ), events AS (
    DELETE FROM troupe.batch USING locked WHERE batch.run = locked.id
  ), places AS (
    DELETE FROM troupe.creation USING locked WHERE creation.run = locked.id
  )
  SELECT id FROM removed`;

/** Deletes some appends behind a place, and returns the place of the last one. */
const DELETE_PIECE = `
  WITH piece AS (
    SELECT head, n FROM troupe.batch WHERE run = $1 AND (head, n) > ($2, $3) ORDER BY head, n LIMIT $4
  ), deleted AS (
    DELETE FROM troupe.batch USING piece WHERE batch.run = $1 AND batch.head = piece.head AND batch.n = piece.n
  )
  SELECT head, n FROM piece ORDER BY head DESC, n DESC LIMIT 1`;

/** Few enough for a fraction of a second, also if all of them are large. */
const PIECE_APPENDS = 500;

/** Releases claims in the database, many at once. What fails is left: the next claim of the run replaces it. */
export class Releases {
  readonly #database: Database;
  readonly #runs: ClaimedRun[] = [];
  #sending: Promise<void> | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  add(run: ClaimedRun): void {
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
      await this.#database.ask(RELEASE, [JSON.stringify(items)]).catch(() => {
        // A database that has not answered for the whole time of `ask` does not get the others one after the other.
        this.#runs.length = 0;
      });
    }
    this.#sending = undefined;
  }
}

const AT_ONCE = 500;

/**
 * Does not wait for a sync of the disk, which would cost more than the rest. After a crash of the database a run can have the owner
 * that has released it, and the next claim replaces that one.
 */
const RELEASE = "SELECT set_config('synchronous_commit', 'off', true), troupe.release_1($1)";
