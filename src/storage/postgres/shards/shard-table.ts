import { AgentError } from "../../../errors.ts";
import type { RunId } from "../../../protocol/ids.ts";
import { Gathered } from "../../../shared/gathered.ts";
import type { Database, Value } from "../connection/database.ts";
import { SHARDS_CHANGED } from "../wakes/wake-channel.ts";
import { SHARD_COUNT, shardOf } from "./parts.ts";

/** Where a shard is. */
export interface ShardRow {
  readonly shard: number;
  /** The number of the database that has it. */
  readonly part: number;
  /** The number of one that may have a copy, which does not count: the shard goes there, or comes from there. */
  readonly copy: number | null;
  /** Grows with each change of the row. */
  readonly move: number;
}

/** The shards as they were at one time. */
export interface ShardView {
  /** The shards that may have a copy. */
  readonly unsettled: ReadonlyMap<number, ShardRow>;
  /** Until then no row is deleted that the view expects. It grows while the view stays as it is. */
  untilMs: number;
}

/**
 * The table of the shards, as this node knows it. What a node knows holds for a few seconds; a move waits for that long before it
 * makes a copy, and again before it deletes the rows that have moved. So an answer counts that came in this time, also if the shard has
 * moved meanwhile, and every node knows of a shard that may have a copy.
 */
export class ShardTable {
  readonly #database: Database;
  readonly #onMoved: (shards: ReadonlySet<number>) => void;
  readonly #rows: ShardRow[] = [];
  readonly #gathered: Gathered<void>;
  #view: ShardView = { unsettled: new Map(), untilMs: -Infinity };
  #newest = -1;
  /** Called with the next change of the table. */
  readonly #waiting = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  /** Reads the table, and then each change of it until it is closed. */
  static async open(database: Database, onMoved: (shards: ReadonlySet<number>) => void): Promise<ShardTable> {
    const table = new ShardTable(database, onMoved);
    await table.refresh();
    if (table.#rows.length !== SHARD_COUNT)
      throw new AgentError(
        "invalid_request",
        `the table of shards is not whole: it has ${table.#rows.length} of ${SHARD_COUNT}`,
      );
    table.#timer = setInterval(() => table.look(), LOOK_MS).unref();
    return table;
  }

  private constructor(database: Database, onMoved: (shards: ReadonlySet<number>) => void) {
    this.#database = database;
    this.#onMoved = onMoved;
    this.#gathered = new Gathered(() => this.#read());
  }

  get view(): ShardView {
    return this.#view;
  }

  /** Whether what is known holds now. */
  get isFresh(): boolean {
    return performance.now() < this.#view.untilMs;
  }

  rowOf(runId: RunId): ShardRow {
    return this.row(shardOf(runId));
  }

  row(shard: number): ShardRow {
    return this.#rows[shard] as ShardRow;
  }

  /** Whether it is known where a shard is, and that it does not move now. */
  isSettled({ shard, move }: ShardRow): boolean {
    return this.isFresh && !this.#view.unsettled.has(shard) && this.row(shard).move === move;
  }

  /** Resolves when what is known holds. */
  async settle(): Promise<void> {
    while (!this.isFresh) await this.refresh();
  }

  /** Reads the changes that there are at the call. */
  async refresh(): Promise<void> {
    await this.#gathered.add();
  }

  /** Reads the changes in the background; what fails is done later. */
  look(): void {
    this.refresh().catch(() => {});
  }

  /** Resolves with the next change that is read, or after a time. */
  changed(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, withinMs);
      this.#waiting.add(end);
    });
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #read(): Promise<void> {
    const startMs = performance.now();
    const changed = await this.#database.ask<ShardRow>(CHANGED, [this.#newest]);
    if (changed.length === 0) {
      this.#view.untilMs = startMs + KNOWN_MS;
      return;
    }
    const unsettled = new Map(this.#view.unsettled);
    const moved = new Set<number>();
    for (const row of changed) {
      const { shard, part, copy, move } = row;
      const before = this.#rows[shard];
      if (before !== undefined && before.part !== part) moved.add(shard);
      this.#rows[shard] = row;
      if (copy === null) unsettled.delete(shard);
      else unsettled.set(shard, row);
      this.#newest = Math.max(this.#newest, move);
    }
    this.#view = { unsettled, untilMs: startMs + KNOWN_MS };
    if (moved.size > 0) this.#onMoved(moved);
    for (const end of this.#waiting) end();
  }
}

/** Changes rows of the table, if they are as the statement says. Returns them as they are then, and tells all nodes. */
export function changeShards(
  database: Database,
  text: string,
  values: readonly Value[],
): Promise<readonly ShardRow[]> {
  return database.transact(async ({ query }) => {
    // So that the numbers of changes are committed in their order. A lock of the table would wait for a vacuum.
    await query("SELECT pg_advisory_xact_lock(hashtext('troupe.shard'), -1)");
    const rows = await query<ShardRow>(`${text} RETURNING shard, part, copy, move`, values);
    if (rows.length > 0)
      await query("SELECT pg_notify($1, $2)", [`troupe_${database.schema}`, SHARDS_CHANGED]);
    return rows;
  });
}

/**
 * Switches a shard to the database that has its copy; returns its row as it is then, or nothing if another change of it has come before. The
 * answer of a switch that was sent twice can be lost: then the row is looked at.
 */
export async function switchShard(database: Database, row: ShardRow): Promise<ShardRow | undefined> {
  const { shard, part, copy, move } = row;
  if (copy === null) return undefined;
  const [switched] = await database.ask<{ move: number | null }>(
    "SELECT troupe.switch_shard_1($1, $2, $3, $4) AS move",
    [shard, move, `troupe_${database.schema}`, SHARDS_CHANGED],
  );
  if (typeof switched?.move === "number") return { shard, part: copy, copy: part, move: switched.move };
  const [now] = await database.ask<ShardRow>(
    "SELECT shard, part, copy, move FROM troupe.shard WHERE shard = $1",
    [shard],
  );
  return now?.part === copy ? now : undefined;
}

/**
 * Opens a shard in the database that has it, if a move before its newest change has closed it: that one has ended, or was taken back.
 * Returns whether a move is under way, which has closed it itself.
 */
export async function openShard(database: Database, { shard, move }: ShardRow): Promise<boolean> {
  const [closed] = await database.ask<{ move: number }>("SELECT move FROM troupe.closed WHERE shard = $1", [
    shard,
  ]);
  if (closed === undefined) return false;
  if (closed.move >= move) return true;
  await database.ask("SELECT troupe.open_shard_1($1, $2)", [shard, move]);
  return false;
}

/** Ends a move that is under way: it can switch the shard no longer. Returns the row then, if it was as it is given. */
export async function takeBack(first: Database, { shard, move }: ShardRow): Promise<ShardRow | undefined> {
  const [row] = await changeShards(
    first,
    "UPDATE troupe.shard SET move = nextval('troupe.epoch') WHERE shard = $1 AND move = $2",
    [shard, move],
  );
  return row;
}

const CHANGED = "SELECT shard, part, copy, move FROM troupe.shard WHERE move > $1";

/** The time between two looks for changes, if nothing is heard of them. */
const LOOK_MS = 1_000;

/** How long a node relies on what it knows. */
export const KNOWN_MS = 3_000;
