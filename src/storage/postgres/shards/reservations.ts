import { Unavailable } from "../../../ports/event-log.ts";
import type { RunId } from "../../../protocol/ids.ts";
import { backoffMs } from "../../../shared/backoff.ts";
import { Gathered } from "../../../shared/gathered.ts";
import type { Database } from "../connection/database.ts";
import { delay } from "../connection/database.ts";
import { toConflict } from "./parts.ts";
import type { UniqueKey } from "./parts.ts";

/** What the databases know of the runs that have reserved something. */
export interface Holders {
  /** The run that has a key in the database of a run. */
  holderOf(key: UniqueKey, runId: RunId): Promise<RunId | undefined>;
  isRemoved(runId: RunId): Promise<boolean>;
  /** From now on nothing is appended to a run under a claim that there is. */
  fence(runId: RunId): Promise<void>;
}

/** A key that a run has reserved. */
interface Reservation {
  readonly digest: string;
  readonly runId: RunId;
  readonly stamp: number;
  /** Whether no run had reserved it before. */
  readonly isNew: boolean;
}

/**
 * The table of what must be unique in all databases of a log, in the first one. A run reserves a key before the append that gives it
 * the key; its own database then decides among the runs that are there. A reservation whose run has not got the key gives way to
 * another run, when no append can give it the key any more.
 */
export class Reservations {
  readonly #database: Database;
  readonly #holders: Holders;
  readonly #gathered: Gathered<Wanted>;

  constructor(database: Database, holders: Holders) {
    this.#database = database;
    this.#holders = holders;
    this.#gathered = new Gathered((wanted) => this.#insert(wanted), { limit: AT_ONCE });
  }

  /** The run that has reserved a key. */
  async find(digest: string): Promise<RunId | undefined> {
    const [row] = await this.#database.ask<{ run: RunId }>(FIND, [digest]);
    return row?.run;
  }

  /** Reserves keys for a run; returns those that no run had reserved. Fails with `conflict` if another run has one of them. */
  async reserve(keys: readonly UniqueKey[], runId: RunId): Promise<readonly Reservation[]> {
    const wanted = keys.map(({ digest }): Wanted => ({ digest, runId, reserved: undefined }));
    await Promise.all(wanted.map((one) => this.#gathered.add(one)));
    const reserved = (): readonly Reservation[] =>
      wanted.flatMap((one) => (one.reserved?.isNew === true ? [one.reserved] : []));
    try {
      for (const [index, key] of keys.entries())
        if (wanted[index]?.reserved === undefined) await this.#contend(key, runId);
    } catch (error) {
      await this.drop(reserved());
      throw error;
    }
    return reserved();
  }

  /** Drops new reservations whose append has failed, as far as they are as they were. */
  async drop(reservations: readonly Reservation[]): Promise<void> {
    if (reservations.length === 0) return;
    const values = [reservations.map(({ digest }) => digest), reservations.map(({ stamp }) => String(stamp))];
    // What stays gives way later.
    await this.#database.ask(DROP, values).catch(() => {});
  }

  async #insert(wanted: readonly Wanted[]): Promise<void> {
    // One statement cannot change a row twice, so a key that several runs want is asked for again.
    let left = wanted;
    while (left.length > 0) {
      const now = new Map(left.map((one) => [one.digest, one]));
      left = left.filter((one) => now.get(one.digest) !== one);
      const rows = await this.#database.ask<InsertedRow>(INSERT, [
        [...now.keys()],
        Array.from(now.values(), ({ runId }) => runId),
      ]);
      for (const { digest, stamp, isNew } of rows) {
        const one = now.get(digest);
        if (one !== undefined) one.reserved = { digest, runId: one.runId, stamp, isNew };
      }
    }
  }

  /** Takes a key that another run has reserved, unless that one has it, or gets it in the meantime. */
  async #contend(key: UniqueKey, runId: RunId): Promise<void> {
    const from = key.type === "alias" ? key.alias.from : undefined;
    const start = performance.now();
    for (let failures = 0; ; failures += 1) {
      const [row] = await this.#database.ask<{ run: RunId; stamp: number }>(FIND, [key.digest]);
      if (row === undefined || row.run === runId) {
        const wanted: Wanted = { digest: key.digest, runId, reserved: undefined };
        await this.#gathered.add(wanted);
        if (wanted.reserved !== undefined) return;
        continue;
      }
      const holder = await this.#holders.holderOf(key, row.run);
      if (holder !== undefined && holder !== runId && holder !== from) throw toConflict(key);
      if (holder === undefined && !(await this.#holders.isRemoved(row.run))) {
        const waitedMs = performance.now() - start;
        if (waitedMs > GIVE_UP_MS) throw new Unavailable("a reservation does not come to an end");
        if (waitedMs < PATIENCE_MS) {
          // Mostly the append of that run is under way.
          await delay(backoffMs(RETRY, failures));
          continue;
        }
        await this.#holders.fence(row.run);
        if ((await this.#holders.holderOf(key, row.run)) !== undefined) continue;
      }
      const taken = await this.#database.ask(TAKE, [key.digest, runId, row.run, row.stamp]);
      if (taken.length > 0) return;
    }
  }
}

interface Wanted {
  readonly digest: string;
  readonly runId: RunId;
  reserved: Reservation | undefined;
}

interface InsertedRow {
  readonly digest: string;
  readonly stamp: number;
  readonly isNew: boolean;
}

/** The statement may run twice. What a run has reserved before is its own still, with another stamp. */
const INSERT = `
  INSERT INTO troupe.reservation AS known (key, run)
    SELECT decode(key, 'hex'), run FROM unnest($1::text[], $2::text[]) AS given (key, run) ORDER BY key
    ON CONFLICT (key) DO UPDATE SET stamp = nextval('troupe.epoch') WHERE known.run = excluded.run
    RETURNING encode(key, 'hex') AS digest, stamp, xmax = 0 AS "isNew"`;

const FIND = "SELECT run, stamp FROM troupe.reservation WHERE key = decode($1, 'hex')";

const TAKE = `
  UPDATE troupe.reservation SET run = $2, stamp = nextval('troupe.epoch')
    WHERE key = decode($1, 'hex') AND run = $3 AND stamp = $4 RETURNING run`;

const DROP = `
  DELETE FROM troupe.reservation USING unnest($1::text[], $2::bigint[]) AS given (key, stamp)
    WHERE reservation.key = decode(given.key, 'hex') AND reservation.stamp = given.stamp`;

const AT_ONCE = 200;

/** How long the run that has reserved a key first may take to get it. */
const PATIENCE_MS = 1_000;
const GIVE_UP_MS = 15_000;
const RETRY = { firstMs: 5, mostMs: 100 };
