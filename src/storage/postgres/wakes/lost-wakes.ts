import type { Client } from "pg";
import type { RunWake } from "../../../ports/router.ts";
import type { RunId } from "../../../protocol/ids.ts";
import type { Tails } from "../../shared/tails.ts";
import type { Database } from "../connection/database.ts";

/** Finds changes of runs that other nodes have made without their message arriving. */
export class LostWakes {
  readonly #database: Database;
  readonly #tails: Tails;
  readonly #lost: (runId: RunId) => void;
  /** The state of the tailed runs, and of those that changed lately, at the last look. */
  #seen = new Map<RunId, Row>();
  /** The newest time in the list of runs at the last look; `undefined` while the list is not watched. */
  #newest: number | undefined;

  /** Calls `lost` with each run of which the database has fewer appends than at the last look. */
  constructor(database: Database, tails: Tails, lost: (runId: RunId) => void) {
    this.#database = database;
    this.#tails = tails;
    this.#lost = lost;
  }

  /**
   * The runs that may have changed since the last look, of those that are tailed, watched or owned. `owned` has the number of
   * appends that this node has made to each of its runs.
   */
  async look(client: Client, owned: ReadonlyMap<RunId, number>): Promise<readonly RunWake[]> {
    const ask: Ask = async (text, values) =>
      (await client.query<Row>(this.#database.sql(text), [...values])).rows;
    const asked = [...new Set([...this.#tails.runIds, ...owned.keys()])];
    const rows = [...(await ask(`SELECT ${STATE} WHERE id = ANY ($1)`, [asked]))];
    const found = new Map(rows.map(({ id, appends }) => [id, appends]));
    const fewer = asked.filter(
      (id) => (found.get(id) ?? 0) < Math.max(owned.get(id) ?? 0, this.#seen.get(id)?.appends ?? 0),
    );
    if (fewer.length > 0) {
      const moved = await ask(MOVED, [fewer]);
      for (const id of fewer) if (!moved.some((run) => run.id === id)) this.#lost(id);
    }
    if (this.#tails.isWatched) {
      for (const row of await this.#listed(ask)) rows.push(row);
    } else {
      this.#newest = undefined;
    }
    const seen = new Map(rows.map((row) => [row.id, row]));
    const changed = [...seen.values()].filter(({ id, appends, epoch }) => {
      const before = this.#seen.get(id);
      return before?.appends !== appends || before.epoch !== epoch;
    });
    this.#seen = seen;
    return changed.map(({ id, epoch }) => ({ runId: id, epoch }));
  }

  /** The runs that have changed since the last look, or a little earlier, oldest first. */
  async #listed(ask: Ask): Promise<readonly Row[]> {
    const newest = this.#newest ?? (await ask(NEWEST, []))[0]?.updated_at ?? 0;
    const rows: Row[] = [];
    let time = newest - CLOCKS_MS;
    let id = "";
    while (true) {
      const page = await ask(CHANGED, [time, id]);
      for (const row of page) rows.push(row);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_ROWS) break;
      ({ updated_at: time, id } = last);
    }
    this.#newest = Math.max(newest, rows.at(-1)?.updated_at ?? 0);
    return rows;
  }
}

type Ask = (text: string, values: readonly unknown[]) => Promise<readonly Row[]>;

interface Row {
  readonly id: RunId;
  readonly epoch: number;
  readonly appends: number;
  readonly updated_at: number;
}

const STATE = `id, epoch, updated_at,
  coalesce((SELECT recent.appends FROM troupe.recent WHERE recent.run = run.id), appends) AS appends FROM troupe.run`;

/** Those of some runs that have moved to another database, or are being moved. */
const MOVED = `SELECT id FROM unnest($1::text[]) AS asked (id) JOIN troupe.closed ON shard = troupe.shard_of_1(id)`;

/** Rows of runs in an order; those that are removed and those that are not have an index each. */
function rowsIn(order: string, most: number, where: string = "true"): string {
  const rows = (removed: string): string =>
    `(SELECT ${STATE} WHERE stored AND ${removed} AND ${where} ORDER BY ${order} LIMIT ${most})`;
  return `${rows("removed")} UNION ALL ${rows("NOT removed")} ORDER BY ${order} LIMIT ${most}`;
}

const NEWEST = rowsIn("updated_at DESC, id", 1);

const PAGE_ROWS = 1_000;

/** In the order of the index, which has the ids of one time backwards. */
const CHANGED = rowsIn("updated_at, id DESC", PAGE_ROWS, "updated_at >= $1 AND (updated_at > $1 OR id < $2)");

/** The clocks of two nodes may differ by this much. */
const CLOCKS_MS = 60_000;
