import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { EventLog } from "troupe";
import { postgresLog } from "troupe/postgres";
import { sqliteLog } from "troupe/storage/sqlite";
import { findPrograms, PostgresServer } from "../../machine/postgres-server.ts";
import type { ServerSetting } from "../../machine/postgres-server.ts";
import { skipped } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";

/** The runs of each owner, every tenth of which waits for a person. */
export const RUNS = 100;

/** A store that can be filled with runs of other owners at once. */
export interface Place {
  readonly name: string;
  open(): EventLog | Promise<EventLog>;
  /** Adds the runs from a number up to another one. */
  fill(from: number, to: number): Promise<void>;
}

/** Measures on a PostgreSQL of its own, if the machine has the programs. A store with a name stays there for the next time. */
export async function onPostgres(
  what: string,
  measure: (place: Place, server: PostgresServer) => Promise<Result[]>,
  store?: string,
  setting: ServerSetting = {},
): Promise<Result[]> {
  const programs = findPrograms();
  if (programs === undefined) return [skipped(`${what}, PostgreSQL`, "this machine has no PostgreSQL")];
  const directory = store ?? mkdtempSync(join(tmpdir(), "troupe-pg-"));
  const isNew = !existsSync(join(directory, "data"));
  mkdirSync(directory, { recursive: true });
  const server = new PostgresServer(programs, directory, setting);
  try {
    if (isNew) await server.create();
    await server.start();
    return await measure(postgresPlace(server.url), server);
  } finally {
    await (store === undefined ? server.remove() : server.kill());
  }
}

/** Measures in a directory of its own. One with a name stays there for the next time. */
export async function inDirectory<Value>(
  measure: (directory: string) => Promise<Value>,
  store?: string,
): Promise<Value> {
  const directory = store ?? mkdtempSync(join(tmpdir(), "troupe-owners-"));
  mkdirSync(directory, { recursive: true });
  try {
    return await measure(directory);
  } finally {
    if (store === undefined) rmSync(directory, { recursive: true });
  }
}

export function sqlitePlace(directory: string, durability: "full" | "relaxed" = "relaxed"): Place {
  return {
    name: "durable log",
    open: () => sqliteLog(directory, { durability }),
    async fill(from, to) {
      using database = new DatabaseSync(join(directory, "log.db"));
      database.exec(`PRAGMA synchronous = OFF; BEGIN;
        CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${to}) SELECT i FROM n;
        INSERT INTO run (rid, run_id, agent, status, head, created, updated, turns, metadata, initial_input, owner)
          SELECT 1000000 + i, 'run_other' || i, 'clerk', ${STATUS}, 0, ${TIME}, ${TIME}, 1, '{}', '"hello ' || i || '"', ${OWNER} FROM n;
        INSERT INTO wait (rid, id, request_id, opened)
          SELECT 1000000 + i, 2, 'req_other' || i || '/' || ${OWNER}, ${TIME} FROM n WHERE i % 10 = 0;
        DROP TABLE n; COMMIT`);
    },
  };
}

function postgresPlace(url: string): Place {
  return {
    name: "PostgreSQL",
    open: () => postgresLog({ url, secretsKey: "a key of thirty-two characters .." }),
    async fill(from, to) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const numbers = `generate_series(${from}, ${to - 1}) AS i`;
      await client.query(`SET synchronous_commit = off;
        INSERT INTO troupe.run (id, epoch, stored, agent, status, created_at, updated_at, turns, initial_input, belongs_to)
          SELECT 'run_other' || i, 0, true, 'clerk', ${STATUS}, ${TIME}, ${TIME}, 1, '"hello ' || i || '"', ${OWNER} FROM ${numbers};
        INSERT INTO troupe.creation (run) SELECT 'run_other' || i FROM ${numbers};
        INSERT INTO troupe.wait (run, id, request, opened_at)
          SELECT 'run_other' || i, 2, 'req_other' || i || '/' || ${OWNER}, ${TIME} FROM ${numbers} WHERE i % 10 = 0`);
      await client.query("VACUUM ANALYZE");
      await client.end();
    },
  };
}

/** Of the run with the number i, in both engines. */
const OWNER = `'owner-' || i / ${RUNS}`;
const STATUS = "CASE WHEN i % 10 = 0 THEN 2 ELSE 0 END";
/** Around now, so that they lie between the runs of the measured owner. */
const TIME = `${Date.now()} + i - 50000`;
