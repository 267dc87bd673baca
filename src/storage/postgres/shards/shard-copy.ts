import { AgentError } from "../../../errors.ts";
import type { RunId } from "../../../protocol/ids.ts";
import type { Database, Transaction } from "../connection/database.ts";
import type { ShardRow } from "./shard-table.ts";

/** Another move has begun meanwhile, or a node has taken this one back. */
export class Overtaken extends AgentError {
  constructor(shard: number) {
    super(
      "conflict",
      `the move of shard ${shard} was taken back: its runs have waited for too long, or another move has begun`,
      {
        hint: "run the command again",
      },
    );
  }
}

/** The rows of a shard, which go from one database to another. */
export class ShardCopy {
  readonly #source: Database;
  readonly #target: Database;
  readonly #row: ShardRow;
  /** Up to where the batches of each run are copied. */
  readonly #copied = new Map<RunId, Position>();

  constructor(source: Database, target: Database, row: ShardRow) {
    this.#source = source;
    this.#target = target;
    this.#row = row;
  }

  /** Copies the batches that are not copied yet. No reader finds them before their runs are there. */
  async copyBatches(): Promise<void> {
    const ids = await runsOf(this.#source, this.#row.shard);
    for (const group of groupsOf(ids))
      for (;;) {
        const places = group.map((id) => this.#copied.get(id) ?? START);
        const rows = await this.#source.ask<BatchRow>(READ_BATCHES, [
          group,
          places.map(({ head }) => String(head)),
          places.map(({ n }) => String(n)),
        ]);
        if (rows.length === 0) break;
        await this.#write(async ({ query }) => {
          await query(`${insertInto("batch")} ON CONFLICT DO NOTHING`, [toList(rows)]);
        });
        for (const { run, head, n } of rows) this.#copied.set(run, { head, n });
      }
  }

  /** Copies everything else, after the shard was closed; returns the number of runs. */
  async finish(): Promise<number> {
    await this.copyBatches();
    const source = this.#source;
    const ids = await runsOf(source, this.#row.shard);
    const rows: (readonly [table: string, list: string])[] = [];
    for (const group of groupsOf(ids)) {
      const found = await source.ask<TableRow>(READ_TABLES, [group]);
      for (const [table, own] of Map.groupBy(found, (row) => row.name)) rows.push([table, toList(own)]);
    }
    const [created, [newest]] = await Promise.all([
      source.ask<{ run: RunId }>(CREATED, [ids]),
      source.ask<{ epoch: number }>(NEWEST_EPOCH, [this.#row.shard]),
    ]);
    await this.#write(async ({ query }) => {
      // This may be the second time, after a lost answer.
      await query(DELETE_RUNS, [ids]);
      for (const [table, list] of rows) await query(insertInto(table), [list]);
      await query("INSERT INTO troupe.creation (run) SELECT unnest($1::text[])", [
        created.map(({ run }) => run),
      ]);
      await query(DROP_BEFORE_BASE, [ids]);
      await query(WORDS_ARE_DUE, [ids]);
      // The next claim of each of the runs has a greater epoch.
      await query(RAISE_EPOCH, [newest?.epoch ?? 0]);
    });
    const [own, copy] = await Promise.all([source, this.#target].map((database) => sumOf(database, ids)));
    if (own !== copy)
      throw new AgentError("internal", `the copy of shard ${this.#row.shard} is not equal to it`, {
        hint: "it was not used, and the shard is where it was",
      });
    return ids.length;
  }

  /** A transaction in the target, while the shard is closed there by this move. */
  #write(work: (transaction: Transaction) => Promise<void>): Promise<void> {
    return whileClosed(this.#target, this.#row, work);
  }
}

/** Deletes the copy of a shard that does not count, in batches. `others` are runs that may have left batches behind. */
export async function deleteCopy(database: Database, row: ShardRow, others: readonly RunId[]): Promise<void> {
  await closeShard(database, row);
  const ids = [...new Set([...(await runsOf(database, row.shard)), ...others])];
  for (const group of groupsOf(ids)) {
    for (let isOver = false; !isOver;)
      await whileClosed(database, row, async ({ query }) => {
        isOver = (await query(DELETE_BATCHES, [group])).length === 0;
      });
    await whileClosed(database, row, async ({ query }) => {
      await query(DELETE_RUNS, [group]);
    });
  }
}

/** Closes a shard in a database for the newest change of its row. */
export async function closeShard(database: Database, { shard, move }: ShardRow): Promise<void> {
  const [row] = await database.ask<{ closed: boolean }>("SELECT troupe.close_shard_1($1, $2) AS closed", [
    shard,
    move,
  ]);
  if (row?.closed !== true) throw new Overtaken(shard);
}

/** The runs of a shard that are in a database. */
export async function runsOf(database: Database, shard: number): Promise<readonly RunId[]> {
  const rows = await database.ask<{ id: RunId }>(
    "SELECT id FROM troupe.run WHERE troupe.shard_of_1(id) = $1 ORDER BY id",
    [shard],
  );
  return rows.map(({ id }) => id);
}

/** A transaction in a database where a shard is closed for the newest change of its row, and stays so until its end. */
function whileClosed(
  database: Database,
  { shard, move }: ShardRow,
  work: (transaction: Transaction) => Promise<void>,
): Promise<void> {
  return database.transact(async (transaction) => {
    const held = await transaction.query(
      "SELECT FROM troupe.closed WHERE shard = $1 AND move = $2 FOR UPDATE",
      [shard, move],
    );
    if (held.length === 0) throw new Overtaken(shard);
    await work(transaction);
  });
}

async function sumOf(database: Database, ids: readonly RunId[]): Promise<string> {
  const rows = await database.ask(SUMS, [ids]);
  return JSON.stringify(rows);
}

interface Position {
  readonly head: number;
  readonly n: number;
}

const START: Position = { head: -1, n: -1 };

interface BatchRow extends Position {
  readonly run: RunId;
  readonly row: string;
}

function groupsOf(ids: readonly RunId[]): readonly (readonly RunId[])[] {
  return Array.from({ length: Math.ceil(ids.length / GROUP) }, (_, at) =>
    ids.slice(at * GROUP, (at + 1) * GROUP),
  );
}

function toList(rows: readonly { readonly row: string }[]): string {
  return `[${rows.map(({ row }) => row).join(",")}]`;
}

function insertInto(table: string): string {
  return `INSERT INTO troupe.${table} SELECT * FROM json_populate_recordset(NULL::troupe.${table}, $1::json)`;
}

/** What a run has besides its batches, in tables with its id in a column. */
const TABLES: Readonly<Record<string, string>> = {
  run: "id",
  recent: "run",
  request: "run",
  alias: "run",
  wait: "run",
  outbox: "run",
  reference: "run",
  schedule: "run",
};

/** A row of one of them. */
interface TableRow {
  readonly name: string;
  readonly row: string;
}

/** Reads them. In the copy a run has its epochs again. */
const READ_TABLES = Object.entries(TABLES)
  .map(([table, key]) => {
    const epoch = table === "run" || table === "recent" ? " || jsonb_build_object('epoch', abs(epoch))" : "";
    return `SELECT '${table}' AS name, (to_jsonb(${table})${epoch})::text AS row FROM troupe.${table} WHERE ${key} = ANY ($1)`;
  })
  .join(" UNION ALL ");

/** Deletes them, with what is made from them. */
const DELETE_RUNS = `WITH ${Object.entries({ ...TABLES, creation: "run", text_due: "run", run_text: "run" })
  .map(([table, key]) => `of_${table} AS (DELETE FROM troupe.${table} WHERE ${key} = ANY ($1))`)
  .join(", ")} SELECT`;

const CREATED = "SELECT run FROM troupe.creation WHERE run = ANY ($1) ORDER BY place NULLS LAST, seq";

const NEWEST_EPOCH =
  "SELECT coalesce(max(abs(epoch)), 0) AS epoch FROM troupe.run WHERE troupe.shard_of_1(id) = $1";

/** Far ahead: what claims take between the two numbers stays below. */
const RAISE_EPOCH = `SELECT setval('troupe.epoch', $1::bigint + 1000000) WHERE nextval('troupe.epoch') <= $1::bigint`;

/** Not all at once: a run can be large. */
const READ_BATCHES = `
  SELECT run, head, n, json_build_object('run', run, 'head', head, 'n', n, 'count', count, 'records_end', records_end,
      'body', body, 'records', records)::text AS row
    FROM (
      SELECT found.*, given.place,
          sum(octet_length(body) + coalesce(octet_length(records), 0)) OVER (ORDER BY given.place, found.head, found.n
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS given (run, head, n, place),
          LATERAL (
            SELECT * FROM troupe.batch
              WHERE batch.run = given.run AND (batch.head, batch.n) > (given.head, given.n)
              ORDER BY batch.head, batch.n LIMIT 200
          ) AS found
    ) AS page
    WHERE before IS NULL OR before < 4000000
    ORDER BY place, head, n LIMIT 1000`;

/** A run that was removed has none, and one whose log begins later has none before that. */
const DROP_BEFORE_BASE = `
  DELETE FROM troupe.batch USING troupe.run WHERE batch.run = run.id AND run.id = ANY ($1)
    AND (run.removed OR batch.head <= run.base_head AND batch.records_end <= run.base_records)`;

const WORDS_ARE_DUE = `INSERT INTO troupe.text_due SELECT id FROM troupe.run
  WHERE id = ANY ($1) AND stored AND NOT removed ON CONFLICT (run) DO NOTHING`;

const DELETE_BATCHES = `
  DELETE FROM troupe.batch USING (SELECT run, head, n FROM troupe.batch WHERE run = ANY ($1) LIMIT 1000) AS old
    WHERE batch.run = old.run AND batch.head = old.head AND batch.n = old.n RETURNING 1`;

const SUMS = `
  SELECT count(*)::text AS batches, coalesce(sum(batch.count), 0)::text AS events, coalesce(sum(batch.head), 0)::text AS heads,
      coalesce(sum(octet_length(body) + coalesce(octet_length(batch.records), 0)), 0)::text AS bytes
    FROM troupe.batch JOIN troupe.run ON run.id = batch.run
    WHERE run.id = ANY ($1) AND (batch.head > run.base_head OR batch.records_end > run.base_records)`;

/** The runs that a statement reads. */
const GROUP = 50;
