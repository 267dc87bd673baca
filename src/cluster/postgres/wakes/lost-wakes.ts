import type { Client } from "pg";
import type { RunId } from "../../../protocol/ids.ts";
import type { Tails } from "../../../storage/shared/tails.ts";
import type { Database } from "../connection/database.ts";
import type { Change } from "./wake-channel.ts";

/** Finds changes of runs that other nodes have made without their message arriving. */
export class LostWakes {
  readonly #database: Database;
  readonly #tails: Tails;
  readonly #lost: (runId: RunId) => void;
  /** The state of the tailed runs, and of those that changed lately, at the last look. */
  #seen = new Map<RunId, Row>();
  /** The newest time in the list of runs at the last look. */
  #newest = 0;

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
  async look(client: Client, owned: ReadonlyMap<RunId, number>): Promise<readonly Change[]> {
    const ask = async (text: string, value: unknown): Promise<readonly Row[]> =>
      (await client.query<Row>(this.#database.sql(text), [value])).rows;
    const asked = [...new Set([...this.#tails.runIds, ...owned.keys()])];
    const rows = [...(await ask(`SELECT ${STATE} WHERE id = ANY ($1)`, asked))];
    const found = new Map(rows.map(({ id, appends }) => [id, appends]));
    for (const id of asked) {
      const known = Math.max(owned.get(id) ?? 0, this.#seen.get(id)?.appends ?? 0);
      if ((found.get(id) ?? 0) < known) this.#lost(id);
    }
    if (this.#tails.isWatched) {
      rows.push(...(await ask(CHANGED, this.#newest - CLOCKS_MS)));
      this.#newest = Math.max(this.#newest, ...rows.map(({ updated_at }) => updated_at));
    }
    const seen = new Map(rows.map((row) => [row.id, row]));
    const changed = [...seen.values()].filter(({ id, appends, epoch }) => {
      const before = this.#seen.get(id);
      return before?.appends !== appends || before.epoch !== epoch;
    });
    this.#seen = seen;
    return changed.map(({ id, epoch }) => ({ runId: id, epoch }));
  }
}

interface Row {
  readonly id: RunId;
  readonly epoch: number;
  readonly appends: number;
  readonly updated_at: number;
}

const STATE = "id, epoch, appends, updated_at FROM troupe.run";

const CHANGED = `SELECT ${STATE} WHERE stored AND updated_at > $1 ORDER BY updated_at DESC LIMIT 1000`;

/** The clocks of two nodes may differ by this much. */
const CLOCKS_MS = 60_000;
