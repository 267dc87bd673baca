import type { Client } from "pg";
import type { RunId } from "../../../protocol/ids.ts";
import type { Tails } from "../../../storage/shared/tails.ts";
import type { Database } from "../connection/database.ts";
import type { Change } from "./wake-channel.ts";

/** Finds changes of runs that other nodes have made without their message arriving. */
export class LostWakes {
  readonly #database: Database;
  readonly #tails: Tails;
  /** The state of the tailed runs, and of those that changed lately, at the last look. */
  #seen = new Map<RunId, Row>();
  /** The newest time in the list of runs at the last look. */
  #newest = 0;

  constructor(database: Database, tails: Tails) {
    this.#database = database;
    this.#tails = tails;
  }

  /** The runs that may have changed since the last look, of those that are tailed, watched or owned. */
  async look(client: Client, owned: Iterable<RunId>): Promise<readonly Change[]> {
    const ask = async (text: string, value: unknown): Promise<readonly Row[]> =>
      (await client.query<Row>(this.#database.sql(text), [value])).rows;
    const rows = [
      ...(await ask(`SELECT ${STATE} WHERE id = ANY ($1)`, [...new Set([...this.#tails.runIds, ...owned])])),
    ];
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
