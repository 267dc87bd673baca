import { DatabaseSync } from "node:sqlite";
import { AgentError } from "../../../errors.ts";

/** How durable commits are. */
export type Durability = "relaxed" | "full";

/** How long a writing connection waits for another one, in milliseconds. */
export const BUSY_MS = 5_000;

/** Opens a writing connection. */
export function openDatabase(path: string, durability: Durability): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    // The writer does the checkpoints itself, with many pages in between, and uses a larger cache: 1.4 times
    // the throughput of the defaults, measured. More than 16 MiB of cache only adds memory when most runs
    // wait.
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

/** Upgrades a database to the current format, and returns the one that it had; fails for an unknown format. */
export function createSchema(database: DatabaseSync): number {
  const row = database.prepare("PRAGMA user_version").get();
  const version = Number(row?.["user_version"]);
  if (version === VERSION) return version;
  if (!(version >= 0 && version < VERSION)) {
    throw new AgentError(
      "invalid_request",
      `the log has format ${version}, and this version of troupe reads ${VERSION} and older`,
      { hint: NEWER_HINT },
    );
  }
  const changes = version === 0 ? [SCHEMA] : FROM.slice(version - 1);
  database.exec(`BEGIN IMMEDIATE; ${changes.join(";")}; PRAGMA user_version = ${VERSION}; COMMIT`);
  return version;
}

/**
 * Takes a database back to an earlier format, and returns the one that it had. Refuses if the earlier one cannot hold something that is
 * there.
 */
export function revertSchema(database: DatabaseSync, to: number): number {
  const from = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
  if (from > VERSION || to > VERSION)
    throw new AgentError(
      "invalid_request",
      from > VERSION
        ? `the log has format ${from}, and this version of troupe reads ${VERSION} and older`
        : `this version of troupe knows format ${VERSION} and older`,
      { hint: `run \`troupe migrate --to ${to}\` of the newer version` },
    );
  if (to === from) return from;
  if (to > from)
    throw new AgentError("invalid_request", `the log has format ${from} already, which is older than ${to}`, {
      hint: "run `troupe migrate` without --to",
    });
  const steps = BACK.filter(({ version }) => version > to && version <= from);
  if (steps.length < from - to) {
    const oldest = Math.min(from, ...steps.map(({ version }) => version - 1));
    throw new AgentError(
      "invalid_request",
      `there is no way back from format ${from} to ${to}, only to ${oldest}`,
      { hint: "restore a copy that was made before the update" },
    );
  }
  const losses = steps.flatMap(({ loss }) => {
    if (loss === undefined) return [];
    const count = Number(database.prepare(loss.count).get()?.["count"]);
    return count === 0 ? [] : [`${count.toLocaleString("en")} ${loss.what}`];
  });
  if (losses.length > 0)
    throw new AgentError("invalid_request", `format ${to} cannot hold what is there: ${losses.join(", ")}`, {
      hint: "nothing was changed; stay at this format, or restore a copy that was made before the update",
    });
  database.exec(
    `BEGIN IMMEDIATE; ${steps.map(({ back }) => back).join(";")}; PRAGMA user_version = ${to}; COMMIT`,
  );
  return from;
}

/** The number of the current format, which a database has as `user_version`. */
export const VERSION = 27;

/** What to do about a log of a newer format. */
export const NEWER_HINT = "npm install troupe@latest, or restore the copy that was made before the update";

// Partial indexes: parked requests are not in the index that a start reads, nor in the one that finds open requests.
const OPEN_INDEX =
  "CREATE INDEX request_open ON request (created) WHERE phase < 2 AND wake IS NULL AND waiting_for IS NULL";
const ASLEEP_INDEX = "CREATE INDEX request_asleep ON request (wake) WHERE wake IS NOT NULL";

// The requests of a run, in the order in which they were accepted.
const OF_RUN = "CREATE INDEX request_run ON request (rid, accepted_n, accepted_after)";

// The queued requests of a run. An old run has many others.
const QUEUED = "CREATE INDEX request_queued ON request (rid) WHERE phase = 0";

// The runs of each agent in the order of their creation, which is the order of rid.
const BY_CREATION = "CREATE INDEX run_created ON run (agent) WHERE removed = 0";

// Lists begin with the newest runs, so they read these indexes from their ends. A run that changes moves to the end, where SQLite
// fills a page before it begins the next; at the start of an index it would divide the first page again and again.
// In the formats 15 to 26.
const BY_TIME_ALONE = `
  CREATE INDEX run_updated ON run (updated, run_id DESC) WHERE removed = 0`;
// In the formats 15 to 25.
const BY_AGENT_OR_STATUS = `
  CREATE INDEX run_agent ON run (agent, updated, run_id DESC) WHERE removed = 0;
  CREATE INDEX run_busy ON run (status, updated, run_id DESC) WHERE removed = 0 AND status > 0`;

// Their last columns sort nothing: a list of the runs with a status, or of an agent with one, leaves out the others without reading their rows,
// of which there can be many.
const BY_TIME = `
  CREATE INDEX run_updated ON run (updated, run_id DESC, status) WHERE removed = 0`;
const BY_AGENT_AND_STATUS = `
  CREATE INDEX run_agent ON run (agent, updated, run_id DESC, status) WHERE removed = 0;
  CREATE INDEX run_busy ON run (status, updated, run_id DESC, agent) WHERE removed = 0 AND status > 0`;
const DROP_THEM = "DROP INDEX run_agent; DROP INDEX run_busy";

// The runs of each owner but `default`, whose runs are in the others: a server without owners writes no more indexes. The owner
// of a wait is behind the slash of its request.
export const WAIT_IS_OWNED: string = "instr(request_id, '/') > 0";
export const WAIT_OWNER: string = "substr(request_id, instr(request_id, '/') + 1)";
const BY_OWNER = `
  CREATE INDEX run_owner ON run (owner, updated, run_id DESC, status) WHERE removed = 0 AND owner <> 'default';
  CREATE INDEX run_owner_agent ON run (owner, agent, updated, run_id DESC, status)
    WHERE removed = 0 AND owner <> 'default'`;
// In the formats 17 to 26.
const BY_OWNER_ALONE = `
  CREATE INDEX run_owner ON run (owner, updated, run_id DESC) WHERE removed = 0 AND owner <> 'default';
  CREATE INDEX run_owner_agent ON run (owner, agent, updated, run_id DESC) WHERE removed = 0 AND owner <> 'default'`;
const DROP_BY_TIME_AND_OWNER = "DROP INDEX run_updated; DROP INDEX run_owner; DROP INDEX run_owner_agent";

// The runs whose newest turn has failed; one that ends well writes nothing here. In the text of an error each quotation mark is escaped.
export const RUN_FAILED: string = `instr(last_turn, '"finish_reason":"error"') > 0`;
const FAILED = `
  CREATE INDEX run_failed ON run (updated, run_id DESC, agent) WHERE removed = 0 AND ${RUN_FAILED};
  CREATE INDEX run_failed_of ON run (owner, updated, run_id DESC, agent)
    WHERE removed = 0 AND owner <> 'default' AND ${RUN_FAILED}`;
const WAITS_BY_OWNER = `CREATE INDEX wait_owner ON wait (${WAIT_OWNER}, opened) WHERE ${WAIT_IS_OWNED}`;

// Each agent of each owner has its own aliases.
const ALIASES = `
  CREATE TABLE alias (agent TEXT NOT NULL, alias TEXT NOT NULL, rid INTEGER NOT NULL, PRIMARY KEY (agent, alias))
    WITHOUT ROWID;
  CREATE INDEX alias_run ON alias (rid)`;

// The references of runs to things outside the log, in both directions.
const REFERENCES = `
  CREATE TABLE reference (thing TEXT NOT NULL, rid INTEGER NOT NULL, PRIMARY KEY (thing, rid)) WITHOUT ROWID;
  CREATE INDEX reference_run ON reference (rid)`;

// In formats 8 to 17 the small appends of a commit were a row of their own.
const RECENT = `
  CREATE TABLE recent (seq INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, parts TEXT NOT NULL, body TEXT NOT NULL)`;

// The requests that are parked on asks of other actors; `rests` has their ids as JSON.
const RESTING = "CREATE INDEX request_resting ON request (rid) WHERE rests IS NOT NULL";

// The messages to other actors that have not arrived yet.
const OUTBOX = `
  CREATE TABLE outbox (rid INTEGER NOT NULL, event INTEGER NOT NULL, request_id TEXT NOT NULL, kind INTEGER NOT NULL,
    PRIMARY KEY (rid, event, request_id, kind))
    WITHOUT ROWID`;

// The open waits for input.
const WAITS = `
  CREATE TABLE wait (rid INTEGER NOT NULL, id INTEGER NOT NULL, request_id TEXT NOT NULL, opened INTEGER NOT NULL,
    PRIMARY KEY (rid, id))
    WITHOUT ROWID;
  CREATE INDEX wait_opened ON wait (opened)`;

// The agent of the run of a wait: most waits of a store can be those of other agents.
const WAITS_BY_AGENT = `
  ALTER TABLE wait ADD COLUMN agent TEXT NOT NULL DEFAULT '';
  CREATE INDEX wait_agent ON wait (agent, opened)`;

// Who did what, in the order of the commits. `rid` is absent for what concerns no run, and stays when the run is removed.
const AUDIT = `
  CREATE TABLE audit (n INTEGER PRIMARY KEY, at INTEGER NOT NULL, owner TEXT NOT NULL, by_id TEXT NOT NULL, by_name TEXT,
    action INTEGER NOT NULL, rid INTEGER, request TEXT, event INTEGER, detail TEXT, times INTEGER NOT NULL DEFAULT 1);
  CREATE INDEX audit_at ON audit (at);
  CREATE INDEX audit_owner ON audit (owner, at) WHERE owner <> 'default';
  CREATE INDEX audit_by ON audit (by_id, at);
  CREATE INDEX audit_run ON audit (rid, at) WHERE rid IS NOT NULL;
  CREATE INDEX audit_action ON audit (action, at) WHERE action > 0`;

// Dead letters stay in an outbox until someone dismisses them, and a list of them reads no other entries.
const DEAD_LETTERS = "CREATE INDEX outbox_dead ON outbox (rid) WHERE kind = 3";

// Where the log of a run begins, if its beginning was removed.
const BASES = `
  CREATE TABLE base (
    rid INTEGER PRIMARY KEY,
    head INTEGER NOT NULL,
    records INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    data TEXT NOT NULL
  )`;

// What each owner has spent on completions, by days since 1970.
const SPENT = `
  CREATE TABLE spent (owner TEXT NOT NULL, day INTEGER NOT NULL, tokens INTEGER NOT NULL, cost REAL NOT NULL,
    raised_tokens INTEGER NOT NULL, raised_cost REAL NOT NULL, PRIMARY KEY (owner, day))
    WITHOUT ROWID`;

// What turns and completions have done and used, by hours since 1970; `d0` to `d11` count them by their durations.
const STATISTICS = `
  CREATE TABLE statistic (hour INTEGER NOT NULL, owner TEXT NOT NULL, kind INTEGER NOT NULL, agent TEXT NOT NULL,
    name TEXT NOT NULL, outcome TEXT NOT NULL, run TEXT, count INTEGER NOT NULL, ms INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL, cost REAL NOT NULL, unknown_costs INTEGER NOT NULL,
    ${Array.from({ length: 12 }, (_, place) => `d${place} INTEGER NOT NULL`).join(", ")},
    PRIMARY KEY (hour, owner, kind, agent, name, outcome))
    WITHOUT ROWID`;

// Sums of the hours before `summed`, which is the first hour that is not in them: of all owners by the hour and the day, of each owner
// by the day and the week. They are written some time after the hours; `hour` is the first one of a sum, and `span` how many they are.
// The runs that failed are found without reading the others.
const STATISTIC_SUMS = `
  CREATE TABLE statistic_sum (span INTEGER NOT NULL, hour INTEGER NOT NULL, kind INTEGER NOT NULL, agent TEXT NOT NULL,
    name TEXT NOT NULL, outcome TEXT NOT NULL, count INTEGER NOT NULL, ms INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL, cost REAL NOT NULL, unknown_costs INTEGER NOT NULL,
    ${Array.from({ length: 12 }, (_, place) => `d${place} INTEGER NOT NULL`).join(", ")},
    PRIMARY KEY (span, hour, kind, agent, name, outcome))
    WITHOUT ROWID;
  CREATE TABLE statistic_owner (span INTEGER NOT NULL, hour INTEGER NOT NULL, owner TEXT NOT NULL, outcome TEXT NOT NULL,
    turns INTEGER NOT NULL, turn_ms INTEGER NOT NULL, completions INTEGER NOT NULL, completion_ms INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL, cost REAL NOT NULL, unknown_costs INTEGER NOT NULL,
    PRIMARY KEY (span, hour, owner, outcome))
    WITHOUT ROWID;
  CREATE TABLE statistic_place (summed INTEGER NOT NULL, version INTEGER NOT NULL);
  INSERT INTO statistic_place VALUES (0, 0);
  CREATE INDEX statistic_failed ON statistic (hour, run) WHERE run IS NOT NULL`;

// The schedules of runs.
const SCHEDULES = `
  CREATE TABLE schedule (rid INTEGER NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, due INTEGER, data TEXT NOT NULL,
    PRIMARY KEY (rid, id))
    WITHOUT ROWID;
  CREATE INDEX schedule_due ON schedule (due) WHERE due IS NOT NULL;
  CREATE INDEX schedule_owner ON schedule (owner) WHERE owner <> 'default'`;

// The words of runs, of which an index finds those with the words of a search. They are written some time after the runs: all chunks up
// to a place are in them, except those of the runs that are due. The words of a run with another owner than `default` are there
// twice, once with the owner before them, so that a search among its runs reads no words of others.
const TEXTS = `
  CREATE TABLE run_text (rid INTEGER PRIMARY KEY, words TEXT NOT NULL);
  CREATE VIRTUAL TABLE run_words USING fts5(words, content='run_text', content_rowid='rid', detail=none, columnsize=0,
    tokenize="ascii tokenchars ':'");
  CREATE TABLE text_place (seq INTEGER NOT NULL);
  INSERT INTO text_place VALUES (0);
  CREATE TABLE text_due (n INTEGER PRIMARY KEY, rid INTEGER NOT NULL)`;

// A batch is a commit. It has the small appends of all its runs until the events of each run become a chunk: `parts` has the run,
// the first and the last event, the number of records and the bytes of each append, and `body` a line break after each line.
// A chunk contains successive events of a run as lines (see body.ts): one row for many events costs much less than
// one row per event. Tables with a rowid and a narrow index are about 1.4 times as fast as clustered ones.
const SCHEMA = `
  CREATE TABLE batch (
    n INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    hash TEXT NOT NULL,
    first_chunk INTEGER,
    recent TEXT,
    checksum INTEGER,
    parts TEXT,
    body TEXT
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
    initial_input TEXT NOT NULL,
    started TEXT,
    last_turn TEXT,
    usage TEXT,
    owner TEXT NOT NULL DEFAULT 'default'
  );
  ${BY_TIME};
  ${BY_AGENT_AND_STATUS};
  ${BY_OWNER};
  ${FAILED};
  CREATE INDEX run_removed ON run (rid) WHERE removed = 1;
  ${BY_CREATION};

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
    wake INTEGER,
    rests TEXT,
    waiting_for TEXT
  ) WITHOUT ROWID;
  ${OF_RUN};
  ${QUEUED};
  ${OPEN_INDEX};
  ${ASLEEP_INDEX};
  ${RESTING};

  ${OUTBOX};
  ${DEAD_LETTERS};

  ${WAITS};
  ${WAITS_BY_OWNER};
  ${WAITS_BY_AGENT};

  ${ALIASES};
  ${REFERENCES};
  ${AUDIT};

  CREATE TABLE snapshot (
    rid INTEGER PRIMARY KEY,
    head INTEGER NOT NULL,
    records INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    data TEXT NOT NULL
  );

  ${BASES};
  ${SPENT};
  ${SCHEDULES};
  ${STATISTICS};
  ${STATISTIC_SUMS};
  ${TEXTS}`;

/** The upgrade from each format to the next. */
const FROM = [
  // Format 1 had no wake times.
  `ALTER TABLE request ADD COLUMN wake INTEGER;
  ${ASLEEP_INDEX}`,
  // Format 2 did not store how many events a run had when its row was written.
  `ALTER TABLE run ADD COLUMN head INTEGER NOT NULL DEFAULT 0;
  UPDATE run SET head = coalesce((SELECT max(last) FROM chunk WHERE chunk.rid = run.rid), 0) WHERE removed = 0`,
  // Format 3 does not count references, which are found in format 5.
  REFERENCES,
  // In format 4 all agents shared one set of aliases.
  `ALTER TABLE alias RENAME TO alias_of_any;
  DROP INDEX alias_run;
  ${ALIASES};
  INSERT INTO alias SELECT run.agent, alias, rid FROM alias_of_any JOIN run USING (rid);
  DROP TABLE alias_of_any`,
  // A record has the name of each secret under "$secret". The configuration of an agent only counts as it is now.
  // A damaged record stays unchanged; reading it is an error.
  `DELETE FROM reference;
  INSERT OR IGNORE INTO reference (thing, rid)
    SELECT name.value, chunk.rid
    FROM chunk
    JOIN run ON run.rid = chunk.rid AND run.removed = 0
    JOIN json_tree(CASE WHEN json_valid(chunk.records) THEN chunk.records END) AS name
    WHERE chunk.records LIKE '%"$secret"%' AND name.key = '$secret' AND name.type = 'text' AND
      (run.run_id NOT LIKE 'config-%' OR
        chunk.seq = (SELECT max(newest.seq) FROM chunk AS newest WHERE newest.rid = chunk.rid))`,
  BY_CREATION,
  // In format 7 each append is a chunk.
  `${RECENT}; ALTER TABLE batch ADD COLUMN recent TEXT`,
  // Format 8 had no outboxes. A request that has started is the one of its run that is neither queued nor completed.
  `ALTER TABLE run ADD COLUMN started TEXT;
  UPDATE run SET started = (SELECT request_id FROM request WHERE request.rid = run.rid AND phase IN (1, 2))
    WHERE removed = 0 AND status > 0;
  ALTER TABLE request ADD COLUMN rests TEXT;
  ${RESTING};
  ${OUTBOX}`,
  // Format 9 did not store what a parked request waits for.
  `ALTER TABLE request ADD COLUMN waiting_for TEXT;
  UPDATE request SET waiting_for =
    json_object('kind', 'sleep', 'expires_at', strftime('%Y-%m-%dT%H:%M:%fZ', wake / 1000.0, 'unixepoch'))
    WHERE wake IS NOT NULL;
  DROP INDEX request_open;
  ${OPEN_INDEX}`,
  // In format 10 each text is an encoded event, which is still read.
  "",
  // Format 11 did not store how the turns of a run ended. Runs of older formats show their next turns only.
  `ALTER TABLE run ADD COLUMN last_turn TEXT;
  ALTER TABLE run ADD COLUMN usage TEXT`,
  // Format 12 had no index of open waits; those of these requests are found when the log is open.
  `${WAITS};
  CREATE TABLE unindexed AS SELECT request_id, rid, started FROM request WHERE phase IN (1, 2)`,
  // In format 13 the index of a run's requests had no order.
  `DROP INDEX request_run; ${OF_RUN}`,
  // In format 14 these indexes began with the newest runs.
  `DROP INDEX run_updated; DROP INDEX run_agent; DROP INDEX run_busy; ${BY_TIME_ALONE}; ${BY_AGENT_OR_STATUS}`,
  // In format 15 the queued requests of a run were found among all of its requests.
  QUEUED,
  // In format 16 everything belongs to the owner `default`.
  `ALTER TABLE run ADD COLUMN owner TEXT NOT NULL DEFAULT 'default'; ${BY_OWNER_ALONE}; ${WAITS_BY_OWNER}`,
  // In format 17 the small appends of a commit were a row of their own. Those that a killed process has left become chunks when
  // the log is opened, and then that table is dropped.
  `ALTER TABLE batch ADD COLUMN checksum INTEGER;
  ALTER TABLE batch ADD COLUMN parts TEXT;
  ALTER TABLE batch ADD COLUMN body TEXT`,
  // Format 18 had no audit trail; it begins with what is done from now on.
  AUDIT,
  // In format 19 every run began with its first event, and dead letters were found among all entries of outboxes.
  `${BASES}; ${DEAD_LETTERS}`,
  // Format 20 did not count what owners spend; it is counted from now on.
  SPENT,
  // Format 21 had only the schedules of definitions, which are found when the agents are served.
  SCHEDULES,
  // Format 22 did not count what turns do; it is counted from now on.
  STATISTICS,
  // Format 23 had no words of runs. Those of all runs are written while the log is open.
  TEXTS,
  // Format 24 had no sums of hours. Those of all hours are written while the log is open.
  STATISTIC_SUMS,
  // In format 25 the waits of an agent were found among those of all, and its runs with a status among all with one of both.
  `${DROP_THEM}; ${BY_AGENT_AND_STATUS};
  ${WAITS_BY_AGENT};
  UPDATE wait SET agent = (SELECT agent FROM run WHERE run.rid = wait.rid)`,
  // In format 26 a list of the runs of an owner with a status, and of those that failed, read the rows of others.
  `${DROP_BY_TIME_AND_OWNER}; ${BY_TIME}; ${BY_OWNER}; ${FAILED}`,
] as const;

/** How the upgrades to the newest formats are taken back, the newest first. Each new format has a way back, or ends them. */
const BACK: readonly {
  readonly version: number;
  readonly back: string;
  /** Asks for the count of what would be lost, and what that is. */
  readonly loss?: { readonly count: string; readonly what: string };
}[] = [
  {
    version: 27,
    back: `DROP INDEX run_failed; DROP INDEX run_failed_of; ${DROP_BY_TIME_AND_OWNER}; ${BY_TIME_ALONE}; ${BY_OWNER_ALONE}`,
  },
  {
    version: 26,
    back: `DROP INDEX wait_agent; ALTER TABLE wait DROP COLUMN agent; ${DROP_THEM}; ${BY_AGENT_OR_STATUS}`,
  },
  {
    version: 25,
    back: `DROP INDEX statistic_failed; DROP TABLE statistic_sum; DROP TABLE statistic_owner; DROP TABLE statistic_place`,
  },
  {
    version: 24,
    back: `DROP TABLE run_words; DROP TABLE run_text; DROP TABLE text_place; DROP TABLE text_due`,
  },
  {
    version: 23,
    back: "DROP TABLE statistic",
    loss: { count: "SELECT count(*) AS count FROM statistic", what: "rows of statistics" },
  },
];
