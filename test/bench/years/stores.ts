import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import pg from "pg";
import type { EventLog } from "troupe";
import { postgresLog } from "troupe/postgres";
import { sqliteLog } from "troupe/storage/sqlite";
import { POSTGRES } from "../../../src/storage/postgres/dialect.ts";
import { createIndexQueries } from "../../../src/storage/sql/queries.ts";
import type { IndexQueries } from "../../../src/storage/sql/queries.ts";
import type { SqlQuery } from "../../../src/storage/sql/query.ts";
import { toChecksum } from "../../../src/storage/sqlite/format/chain.ts";
import { SQLITE } from "../../../src/storage/sqlite/reader/dialect.ts";
import { toPagesFile } from "../../../src/storage/sqlite/writer/page-states.ts";
import type { PostgresServer } from "../../machine/postgres-server.ts";
import { engineCpuMs } from "../cluster/engine.ts";
import { copyRuns, renamed, renamedWords } from "./copies.ts";
import type { Engine } from "./copies.ts";
import { makeTemplates } from "./templates.ts";
import type { Template } from "./templates.ts";

/** A store with the runs of years. */
export interface Store {
  readonly name: string;
  /** A directory, or the address of a database. */
  readonly place: string;
  readonly queries: IndexQueries;
  open(): EventLog | Promise<EventLog>;
  /** Adds so many copies of templates. */
  copy(templates: readonly Template[], count: number): Promise<void>;
  /** The CPU time that the processes of a database have used so far. */
  engineCpuMs?(): number;
  /** How the engine answers a question. */
  explain(query: SqlQuery<unknown>): Promise<readonly string[]>;
}

/** Fills a store, unless it was kept. */
export async function fillStore(store: Store, count: number, mark?: string): Promise<void> {
  if (mark !== undefined && existsSync(mark) && readFileSync(mark, "utf8") === String(count)) return;
  const templates = await makeTemplates(await store.open());
  // The newest transaction of the log is that of an opening, which has no events.
  await (await store.open()).close();
  await store.copy(templates, count);
  const log = await store.open();
  await log.indexed?.();
  await log.close();
  if (mark !== undefined) writeFileSync(mark, String(count));
}

export function sqliteStore(directory: string): Store {
  const path = join(directory, "log.db");
  return {
    name: "SQLite",
    place: directory,
    queries: createIndexQueries(SQLITE),
    open: () => sqliteLog(directory),
    async copy(templates, count) {
      using database = new DatabaseSync(path);
      database.exec("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
      database.exec("PRAGMA cache_size = -1000000");
      const last = Number(database.prepare("SELECT max(rid) AS rid FROM run").get()?.["rid"]);
      database.function("checksum", { deterministic: true, varargs: true }, (...values) => {
        const [rid, first, end, records, body, encoded] = values;
        const position = {
          rid: Number(rid),
          first: Number(first),
          last: Number(end),
          records: Number(records),
        };
        return toChecksum(position, Buffer.from(String(body)), encoded === null ? null : String(encoded));
      });
      await copyRuns(sqliteEngine(database, last), templates, count);
      database.exec(
        `INSERT INTO run_words (rowid, words) SELECT rid, words FROM run_text WHERE rid > ${last} ORDER BY rid`,
      );
      database.exec("UPDATE text_place SET seq = (SELECT max(seq) FROM chunk); PRAGMA journal_mode = WAL");
      // What was saved of the pages is wrong after a change that is no commit of the log.
      rmSync(toPagesFile(path), { force: true });
    },
    async explain({ text, values }) {
      using database = new DatabaseSync(path, { readOnly: true });
      const bound = values.map((value) => (typeof value === "object" ? JSON.stringify(value) : value));
      const rows = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...bound);
      const depths = new Map<unknown, number>([[0, -1]]);
      return rows.map(({ id, parent, detail }) => {
        const depth = (depths.get(parent) ?? -1) + 1;
        depths.set(id, depth);
        return `${"  ".repeat(depth)}${String(detail)}`;
      });
    },
  };
}

function sqliteEngine(database: DatabaseSync, last: number): Engine {
  const tables = "run chunk request wait outbox alias reference schedule audit snapshot run_text".split(" ");
  const rid = `${last} + temp_made.i`;
  return {
    schema: "",
    run: async (text) => database.exec(text),
    rows: async (text) => database.prepare(text).all(),
    async columns(table) {
      const rows = database.prepare("SELECT name, type FROM pragma_table_info(?)").all(table);
      const columns = rows.map(({ name, type }) => ({ name: String(name), isText: type === "TEXT" }));
      return columns.filter(({ name }) => !(NUMBERED[table] === name));
    },
    tables: Object.fromEntries(tables.map((table) => [table, "rid"])),
    keyOf: async ({ runId }) =>
      String(database.prepare("SELECT rid FROM run WHERE run_id = ?").get(runId)?.["rid"]),
    collation: BINARY,
    given: {
      "*": { rid },
      chunk: {
        checksum: `checksum(${rid}, one.first, one.last, one.records_end, ${renamed("one.body", BINARY)}, ${renamed("one.records", BINARY)})`,
      },
      snapshot: {
        checksum: `checksum(${rid}, one.head, one.head, one.records, '', ${renamed("one.data", BINARY)})`,
      },
      run_text: { words: renamedWords("one.words", BINARY) },
    },
    series: (count) =>
      `(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) SELECT i FROM n)`,
    digits: (number, count, isHex) => `printf('%0${count}${isHex ? "x" : "d"}', ${number})`,
    time: (ms) => `strftime('%Y-%m-%dT%H:%M:%fZ', (${ms}) / 1000.0, 'unixepoch')`,
  };
}

const BINARY = "binary";
const C = '"C"';

/** The columns that number the rows of a table. */
const NUMBERED: Readonly<Record<string, string>> = { chunk: "seq", audit: "n" };

export function postgresStore(url: string, server?: PostgresServer): Store {
  const ask = async <Answer>(use: (client: pg.Client) => Promise<Answer>): Promise<Answer> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return await use(client);
    } finally {
      await client.end();
    }
  };
  return {
    name: "PostgreSQL",
    place: url,
    queries: createIndexQueries(POSTGRES),
    open: () => postgresLog({ url, secretsKey: "a key of thirty-two characters .." }),
    engineCpuMs: () => (server === undefined ? 0 : engineCpuMs(server)),
    copy: (templates, count) =>
      ask(async (client) => {
        await client.query(
          "SET synchronous_commit = off; SET work_mem = '256MB'; SET maintenance_work_mem = '512MB'",
        );
        const { rows } = await client.query<{ readonly place: string }>(
          "SELECT coalesce(max(place), 0) AS place FROM troupe.creation",
        );
        // It grows by one row after the other else, which takes several times as long.
        await client.query("DROP INDEX troupe.run_text_words");
        await copyRuns(postgresEngine(client, Number(rows[0]?.place)), templates, count);
        await client.query(
          "CREATE INDEX run_text_words ON troupe.run_text USING gin (words) WITH (gin_pending_list_limit = 256)",
        );
        await client.query("VACUUM ANALYZE");
        await client.query("CHECKPOINT");
      }),
    explain: ({ text, values }) =>
      ask(async (client) => {
        await client.query("SET jit = off; SET search_path = troupe");
        const { rows } = await client.query<{ readonly "QUERY PLAN": string }>(
          `EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off) ${text}`,
          [...values],
        );
        return rows.map((row) => row["QUERY PLAN"]);
      }),
  };
}

function postgresEngine(client: pg.Client, places: number): Engine {
  const tables = "run creation batch request wait outbox alias reference schedule audit run_text".split(" ");
  return {
    schema: "troupe.",
    async run(text) {
      await client.query(text);
    },
    rows: async (text) => (await client.query<Record<string, unknown>>(text)).rows,
    async columns(table) {
      const { rows } = await client.query<{ readonly name: string; readonly type: string }>(
        `SELECT column_name AS name, data_type AS type FROM information_schema.columns
          WHERE table_schema = 'troupe' AND table_name = $1 AND is_identity = 'NO' ORDER BY ordinal_position`,
        [table],
      );
      return rows.map(({ name, type }) => ({ name, isText: type === "text" }));
    },
    tables: Object.fromEntries(tables.map((table) => [table, table === "run" ? "id" : "run"])),
    keyOf: async ({ runId }) => `'${runId}'`,
    collation: C,
    given: {
      run: { owner: "NULL" },
      creation: { place: `${places} + temp_made.i` },
      run_text: { words: `(${renamedWords("one.words::text", C)})::tsvector` },
    },
    series: (count) => `generate_series(1, ${count}::bigint) AS i`,
    digits: (number, count, isHex) =>
      `lpad(${isHex ? `to_hex(${number})` : `(${number})::text`}, ${count}, '0')`,
    time: (ms) =>
      `to_char(to_timestamp((${ms}) / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  };
}
