import { DatabaseSync } from "node:sqlite";

/** How the writer makes its commits survive. */
export type Durability = "relaxed" | "full";

/** Opens a connection that writes. */
export function openDatabase(path: string, durability: Durability): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    // Many pages between checkpoints, which the writer sees to itself, and more cache: measured, 1.4 times the
    // throughput of the defaults. Beyond 16 MiB the cache only adds to what a process holds when most of its runs wait.
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${durability === "full" ? "FULL" : "NORMAL"};
      PRAGMA wal_autocheckpoint = 0;
      PRAGMA journal_size_limit = 67108864;
      PRAGMA cache_size = -16384;
      PRAGMA temp_store = MEMORY;
    `);
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

/** Brings a database to the present form; fails for one of a form that is not known here. */
export function createSchema(database: DatabaseSync): void {
  const row = database.prepare("PRAGMA user_version").get();
  const version = Number(row?.["user_version"]);
  if (version === VERSION) return;
  if (!(version >= 0 && version < VERSION)) {
    throw new Error(`the log has form ${version}, this program knows ${VERSION} and older ones`);
  }
  const changes = version === 0 ? [SCHEMA] : FROM.slice(version - 1);
  database.exec(`BEGIN IMMEDIATE; ${changes.join(";")}; PRAGMA user_version = ${VERSION}; COMMIT`);
}

const VERSION = 4;

// What waits or sleeps is in neither the way of those that start, nor in that of whoever looks for something to do.
const REQUEST_INDEXES = `
  CREATE INDEX request_open ON request (created) WHERE phase < 2 AND wake IS NULL;
  CREATE INDEX request_asleep ON request (wake) WHERE wake IS NOT NULL`;

// What runs refer to outside the log, in both directions.
const REFERENCES = `
  CREATE TABLE reference (thing TEXT NOT NULL, rid INTEGER NOT NULL, PRIMARY KEY (thing, rid)) WITHOUT ROWID;
  CREATE INDEX reference_run ON reference (rid)`;

// A chunk is what one append added to a run, its events joined by line breaks: a row per run and commit
// costs half of a row per event. Tables with a rowid and a narrow index beat clustered ones by half.
const SCHEMA = `
  CREATE TABLE batch (
    n INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    hash TEXT NOT NULL,
    first_chunk INTEGER
  );

  CREATE TABLE chunk (
    seq INTEGER PRIMARY KEY,
    rid INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    records_end INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    body TEXT NOT NULL,
    records TEXT
  );
  CREATE INDEX chunk_at ON chunk (rid, last);

  CREATE TABLE run (
    rid INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    removed INTEGER NOT NULL DEFAULT 0,
    agent TEXT NOT NULL,
    status INTEGER NOT NULL,
    head INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    initial_input TEXT NOT NULL
  );
  CREATE INDEX run_updated ON run (updated DESC, run_id) WHERE removed = 0;
  CREATE INDEX run_agent ON run (agent, updated DESC, run_id) WHERE removed = 0;
  CREATE INDEX run_busy ON run (status, updated DESC, run_id) WHERE removed = 0 AND status > 0;
  CREATE INDEX run_removed ON run (rid) WHERE removed = 1;

  CREATE TABLE request (
    request_id TEXT PRIMARY KEY,
    rid INTEGER NOT NULL,
    phase INTEGER NOT NULL,
    created INTEGER NOT NULL,
    accepted_n INTEGER NOT NULL,
    accepted_after INTEGER NOT NULL,
    started INTEGER,
    segment INTEGER,
    completed INTEGER,
    wake INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX request_run ON request (rid);
  ${REQUEST_INDEXES};

  CREATE TABLE alias (alias TEXT PRIMARY KEY, rid INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX alias_run ON alias (rid);
  ${REFERENCES};

  CREATE TABLE snapshot (
    rid INTEGER PRIMARY KEY,
    head INTEGER NOT NULL,
    records INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    data TEXT NOT NULL
  )`;

/** From each form to the next. */
const FROM = [
  // Form 1 did not know when a request sleeps,
  `ALTER TABLE request ADD COLUMN wake INTEGER;
  DROP INDEX request_open;
  ${REQUEST_INDEXES}`,
  // and form 2 not how many events a run had when its row was written.
  `ALTER TABLE run ADD COLUMN head INTEGER NOT NULL DEFAULT 0;
  UPDATE run SET head = coalesce((SELECT max(last) FROM chunk WHERE chunk.rid = run.rid), 0) WHERE removed = 0`,
  // Form 3 did not count references. A secret is called by a name whose first part ends with a dot, and its records have
  // the name under "$secret". Records that are damaged stay as they are, for whoever reads them.
  `${REFERENCES};
  INSERT OR IGNORE INTO reference (thing, rid)
    SELECT substr(name.value, 1, instr(name.value, '.') - 1), chunk.rid
    FROM chunk
    JOIN run ON run.rid = chunk.rid AND run.removed = 0
    JOIN json_tree(CASE WHEN json_valid(chunk.records) THEN chunk.records END) AS name
    WHERE chunk.records LIKE '%"$secret"%' AND name.key = '$secret' AND name.type = 'text'`,
] as const;

/** The phases of runs and requests by the numbers that stand for them: equal in size, so that a change of phase rewrites nothing else. */
export const RUN_PHASES = ["idle", "running", "waiting"] as const;
export const REQUEST_PHASES = ["queued", "running", "waiting", "completed"] as const;
