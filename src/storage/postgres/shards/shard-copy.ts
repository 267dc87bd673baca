import { AgentError } from "../../../errors.ts";
import type { RunId } from "../../../protocol/ids.ts";
import type { Database, Transaction, Value } from "../connection/database.ts";
import { isTransient } from "../connection/trouble.ts";
import type { ShardRow } from "./shard-table.ts";

/** Another move has begun meanwhile, or this one was taken back. */
export class Overtaken extends AgentError {
  readonly shard: number;

  constructor(shard: number, cause?: unknown) {
    super(
      "conflict",
      `the move of shard ${shard} was taken back: its runs have waited for too long, or another move has begun`,
      { hint: "run the command again", cause },
    );
    this.shard = shard;
  }
}

/**
 * The rows of a shard, which go from one database to another. No reader finds the batches before their runs are there, and none of them
 * counts before the shard is switched.
 */
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

  /** Copies the batches while the shard is open, until few have come meanwhile. */
  async copyBatches(): Promise<void> {
    for (let rounds = 0; rounds < ROUNDS; rounds += 1) if ((await this.#copyNew()) <= FEW_BATCHES) return;
  }

  /** Copies the batches that are not copied yet; returns their number. */
  async #copyNew(): Promise<number> {
    let count = 0;
    for (const group of groupsOf(await runsOf(this.#source, this.#row.shard)))
      for (;;) {
        const rows = await this.#source.ask<BatchRow>(READ_BATCHES, this.#places(group));
        if (rows.length === 0) break;
        await whileClosed(this.#target, this.#row, async ({ query }) => {
          await query(COPY_BATCHES, [toList(rows.map(({ row }) => row))]);
        });
        for (const { run, head, n } of rows) this.#copied.set(run, { head, n });
        count += rows.length;
      }
    return count;
  }

  #places(ids: readonly RunId[]): readonly Value[] {
    const places = ids.map((id) => this.#copied.get(id) ?? START);
    return [ids, places.map(({ head }) => String(head)), places.map(({ n }) => String(n))];
  }

  /**
   * Copies everything else, after the shard was closed; returns the number of runs. Its runs wait meanwhile, so it is one question and one
   * statement, which is sent once: a move whose database is away is taken back. `check` throws if they have waited for too long.
   */
  async finish(check: () => void): Promise<number> {
    const { shard, move } = this.#row;
    const known = this.#places([...this.#copied.keys()]);
    const rows = await this.#once<RestRow>(this.#source, READ_REST, [shard, ...known]);
    check();
    const whole = rows.find(({ name }) => name === "whole");
    const own = JSON.parse(whole?.row ?? "") as { readonly newest: number; readonly sums: Sums };
    let copied: Sums = [0, 0, 0, 0];
    for (const { created, lists } of piecesOf(rows)) {
      const values = [shard, move, own.newest, created, ...lists];
      const [written] = await this.#once<{ held: boolean; sums: Sums }>(this.#target, WRITE_REST, values);
      if (written?.held !== true) throw new Overtaken(shard);
      copied = copied.map((sum, at) => sum + (written.sums[at] ?? 0)) as unknown as Sums;
    }
    if (own.sums.join() !== copied.join())
      throw new AgentError("internal", `the copy of shard ${shard} is not equal to it`, {
        hint: "it was not used, and the shard is where it was",
      });
    return rows.filter(({ name }) => name === "run").length;
  }

  /** One attempt of a statement: while runs wait, a move is not repeated but taken back. */
  async #once<Row extends object>(
    database: Database,
    text: string,
    values: readonly Value[],
  ): Promise<readonly Row[]> {
    try {
      return await database.once<Row>(text, values);
    } catch (error) {
      throw isTransient(error) ? new Overtaken(this.#row.shard, error) : error;
    }
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

/** Divides the rest of a shard into pieces of whole runs, of which one is mostly enough, in the order in which the runs were created. */
function piecesOf(
  rows: readonly RestRow[],
): readonly { readonly created: readonly string[]; readonly lists: readonly string[] }[] {
  const places = new Map<string, number>();
  const ofRuns = new Map<string, RestRow[]>();
  for (const one of rows) {
    if (one.name === "creation") places.set(one.run, Number(one.row));
    if (one.name === "whole") continue;
    const ofRun = ofRuns.get(one.run);
    if (ofRun === undefined) ofRuns.set(one.run, [one]);
    else ofRun.push(one);
  }
  const placeOf = (run: string): number => places.get(run) ?? Number.MAX_SAFE_INTEGER;
  const ordered = [...ofRuns].sort(([a], [b]) => placeOf(a) - placeOf(b));
  const pieces: RestRow[][] = [];
  let characters = Infinity;
  for (const [, ofRun] of ordered) {
    if (characters > PIECE_CHARACTERS) {
      pieces.push([]);
      characters = 0;
    }
    pieces.at(-1)?.push(...ofRun);
    for (const { row } of ofRun) characters += row.length;
  }
  return pieces.map((piece) => {
    const byName = Map.groupBy(piece, ({ name }) => name);
    return {
      created: (byName.get("creation") ?? []).map(({ run }) => run),
      lists: LISTS.map((name) => toList((byName.get(name) ?? []).map(({ row }) => row))),
    };
  });
}

function toList(rows: readonly string[]): string {
  return `[${rows.join(",")}]`;
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

/** The tables from which rows are copied at last, in the order of the values of the statement. */
const LISTS: readonly string[] = [...Object.keys(TABLES), "batch"];

/** A row of one of them, the place of a run in the order of creation, or what is said of the whole shard. */
interface RestRow {
  readonly name: string;
  readonly run: string;
  readonly row: string;
}

/** The numbers of batches and events, and the sums of heads and bytes. */
type Sums = readonly [batches: number, events: number, heads: number, bytes: number];

/** What sums are of, as far as the log of a run has it. */
const SUMS = `json_build_array(count(*), coalesce(sum(kept.count), 0), coalesce(sum(kept.head), 0), coalesce(sum(kept.bytes), 0))`;
const IS_KEPT = "NOT own.removed AND (batch.head > own.base_head OR batch.records_end > own.base_records)";
const KEPT = `batch.count, batch.head, octet_length(batch.body) + coalesce(octet_length(batch.records), 0) AS bytes`;

const BATCH_ROW = `json_build_object('run', batch.run, 'head', batch.head, 'n', batch.n, 'count', batch.count, 'records_end', batch.records_end,
  'body', batch.body, 'records', batch.records)::text`;

/** Reads a closed shard except for the batches up to the places that are known. In the copy a run has its epochs again. */
const READ_REST = `
  WITH own AS MATERIALIZED (SELECT * FROM troupe.run WHERE troupe.shard_of_1(id) = $1)
  ${Object.entries(TABLES)
    .map(([table, key]) => {
      const epoch =
        table === "run" || table === "recent" ? " || jsonb_build_object('epoch', abs(epoch))" : "";
      return `SELECT '${table}' AS name, ${key} AS run, (to_jsonb(found)${epoch})::text AS row
        FROM troupe.${table} AS found WHERE ${key} = ANY (ARRAY (SELECT id FROM own))`;
    })
    .join(" UNION ALL ")}
  UNION ALL SELECT 'creation', run, row_number() OVER (ORDER BY place NULLS LAST, seq)::text
    FROM troupe.creation WHERE run = ANY (ARRAY (SELECT id FROM own))
  UNION ALL SELECT 'batch', own.id, found.row
    FROM own LEFT JOIN unnest($2::text[], $3::bigint[], $4::bigint[]) AS known (run, head, n) ON known.run = own.id,
      LATERAL (
        SELECT ${BATCH_ROW} AS row FROM troupe.batch
          WHERE batch.run = own.id AND (batch.head, batch.n) > (coalesce(known.head, -1), coalesce(known.n, -1)) AND ${IS_KEPT}
      ) AS found
  UNION ALL SELECT 'whole', '', json_build_object('newest', (SELECT coalesce(max(abs(epoch)), 0) FROM own), 'sums', ${SUMS})::text
    FROM own, LATERAL (SELECT ${KEPT} FROM troupe.batch WHERE batch.run = own.id AND ${IS_KEPT} OFFSET 0) AS kept`;

/**
 * Writes that into the target, while the shard is closed there by this move; returns whether it is, and the sums of what the target has
 * then. A run that was removed has no batches, and one whose log begins later has none before that. The next claim of each of the runs
 * has a greater epoch, far ahead: what claims take between the two numbers stays below.
 */
const WRITE_REST = `
  WITH held AS MATERIALIZED (SELECT FROM troupe.closed WHERE shard = $1 AND move = $2 FOR UPDATE),
  own AS MATERIALIZED (SELECT given.* FROM held, ${givenOf("run")} AS given),
  dropped AS (
    DELETE FROM troupe.batch USING own
      WHERE batch.run = own.id AND (own.removed OR own.base_head > 0 OR own.base_records > 0) AND NOT (${IS_KEPT})
  ),
  ${LISTS.map(
    (table) => `of_${table} AS (
      INSERT INTO troupe.${table} SELECT given.* FROM held, ${givenOf(table)} AS given
        ${table === "batch" ? `ON CONFLICT DO NOTHING RETURNING ${KEPT}` : ""}
    )`,
  ).join(", ")},
  created AS (
    INSERT INTO troupe.creation (run) SELECT given.run FROM held, unnest($4::text[]) WITH ORDINALITY AS given (run, place) ORDER BY place
  ),
  words_are_due AS (
    INSERT INTO troupe.text_due SELECT id FROM own WHERE stored AND NOT removed ON CONFLICT (run) DO NOTHING
  )
  SELECT EXISTS (SELECT FROM held) AS held,
      (SELECT setval('troupe.epoch', $3::bigint + 1000000) WHERE nextval('troupe.epoch') <= $3::bigint), ${SUMS} AS sums
    FROM (
      SELECT found.* FROM own, LATERAL (SELECT ${KEPT} FROM troupe.batch WHERE batch.run = own.id AND ${IS_KEPT} OFFSET 0) AS found
      UNION ALL SELECT * FROM of_batch
    ) AS kept`;

/** The rows of a table among the values of the statement. */
function givenOf(table: string): string {
  return `json_populate_recordset(NULL::troupe.${table}, $${LISTS.indexOf(table) + 5}::json)`;
}

/** Deletes them, with what is made from them. */
const DELETE_RUNS = `WITH ${Object.entries({ ...TABLES, creation: "run", text_due: "run", run_text: "run" })
  .map(([table, key]) => `of_${table} AS (DELETE FROM troupe.${table} WHERE ${key} = ANY ($1))`)
  .join(", ")} SELECT`;

const COPY_BATCHES =
  "INSERT INTO troupe.batch SELECT * FROM json_populate_recordset(NULL::troupe.batch, $1::json) ON CONFLICT DO NOTHING";

/** Not all at once: a run can be large. */
const READ_BATCHES = `
  SELECT run, head, n, ${BATCH_ROW} AS row
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
    ) AS batch
    WHERE before IS NULL OR before < 4000000
    ORDER BY place, head, n LIMIT 1000`;

const DELETE_BATCHES = `
  DELETE FROM troupe.batch USING (SELECT run, head, n FROM troupe.batch WHERE run = ANY ($1) LIMIT 1000) AS old
    WHERE batch.run = old.run AND batch.head = old.head AND batch.n = old.n RETURNING 1`;

/** The runs that a statement reads. */
const GROUP = 50;

/** How often the batches of an open shard are copied at most, and how many may be left for the time in which it is closed. */
const ROUNDS = 5;
const FEW_BATCHES = 20;

/** The rest of a shard is written in one statement up to this length. */
const PIECE_CHARACTERS = 8_000_000;
