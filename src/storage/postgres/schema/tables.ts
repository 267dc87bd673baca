/**
 * The tables. The first key of each is the run, except those of requests and aliases, which must be unique over all runs,
 * and those that no run has. Times are milliseconds since 1970, JSON is stored as the text that was written.
 */
export const TABLES = `
CREATE SEQUENCE troupe.epoch;

CREATE TABLE troupe.run (
  id text COLLATE "C" PRIMARY KEY,
  -- The claim that may append, the node that made it, and the number of appends and removals so far.
  epoch bigint NOT NULL,
  owner text,
  appends bigint NOT NULL DEFAULT 0,
  head bigint NOT NULL DEFAULT 0,
  records bigint NOT NULL DEFAULT 0,
  bytes bigint NOT NULL DEFAULT 0,
  -- False while the run was only claimed.
  stored boolean NOT NULL DEFAULT false,
  removed boolean NOT NULL DEFAULT false,
  agent text COLLATE "C" NOT NULL DEFAULT '',
  status smallint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL DEFAULT 0,
  updated_at bigint NOT NULL DEFAULT 0,
  turns bigint NOT NULL DEFAULT 0,
  metadata text NOT NULL DEFAULT '{}',
  initial_input text NOT NULL DEFAULT 'null',
  started text COLLATE "C",
  last_turn text,
  usage text,
  snapshot text,
  snapshot_head bigint,
  snapshot_records bigint
) WITH (fillfactor = 80);
-- The removed runs have an index of their own, so that a list does not read them all.
CREATE INDEX run_updated ON troupe.run (updated_at DESC, id) WHERE stored AND NOT removed;
CREATE INDEX run_removed ON troupe.run (updated_at DESC, id) WHERE stored AND removed;
CREATE INDEX run_agent ON troupe.run (agent, updated_at DESC, id) WHERE stored AND NOT removed;
CREATE INDEX run_busy ON troupe.run (status, updated_at DESC, id) WHERE stored AND NOT removed AND status > 0;
CREATE INDEX run_owner ON troupe.run (owner) WHERE owner IS NOT NULL;

-- The order in which runs were created. A list in this order numbers the new ones, so that a run never gets a place before
-- one that was listed, also when their transactions end in another order than they began.
CREATE TABLE troupe.creation (
  run text COLLATE "C" PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  place bigint
);
CREATE INDEX creation_place ON troupe.creation (place) WHERE place IS NOT NULL;
CREATE INDEX creation_new ON troupe.creation (seq) WHERE place IS NULL;

-- An append in each row. Its events are lines of the body; n numbers the appends of the run.
CREATE TABLE troupe.batch (
  run text COLLATE "C" NOT NULL,
  head bigint NOT NULL,
  n bigint NOT NULL,
  count integer NOT NULL,
  records_end bigint NOT NULL,
  body text NOT NULL,
  records text,
  PRIMARY KEY (run, head, n)
);

CREATE TABLE troupe.request (
  id text COLLATE "C" PRIMARY KEY,
  run text COLLATE "C" NOT NULL,
  removed boolean NOT NULL DEFAULT false,
  phase smallint NOT NULL,
  created_at bigint NOT NULL,
  accepted_n bigint NOT NULL,
  accepted_after bigint NOT NULL,
  started bigint,
  segment bigint,
  completed bigint,
  wake_at bigint,
  rests text,
  waiting_for text
) WITH (fillfactor = 80);
CREATE INDEX request_run ON troupe.request (run, accepted_n);
CREATE INDEX request_open ON troupe.request (created_at, id)
  WHERE phase < 2 AND wake_at IS NULL AND waiting_for IS NULL;
CREATE INDEX request_asleep ON troupe.request (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX request_resting ON troupe.request (run) WHERE rests IS NOT NULL;

CREATE TABLE troupe.alias (
  agent text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  PRIMARY KEY (agent, name)
);
CREATE INDEX alias_run ON troupe.alias (run);

CREATE TABLE troupe.wait (
  run text COLLATE "C" NOT NULL,
  id bigint NOT NULL,
  request text COLLATE "C" NOT NULL,
  opened_at bigint NOT NULL,
  PRIMARY KEY (run, id)
);
CREATE INDEX wait_opened ON troupe.wait (opened_at, run, id);

CREATE TABLE troupe.outbox (
  run text COLLATE "C" NOT NULL,
  event bigint NOT NULL,
  request text COLLATE "C" NOT NULL,
  kind smallint NOT NULL,
  PRIMARY KEY (run, event, request, kind)
);

-- The references of runs to things outside the log.
CREATE TABLE troupe.reference (
  run text COLLATE "C" NOT NULL,
  thing text COLLATE "C" NOT NULL,
  PRIMARY KEY (run, thing)
);
CREATE INDEX reference_thing ON troupe.reference (thing);

CREATE TABLE troupe.artifact (
  id text COLLATE "C" PRIMARY KEY,
  created_at bigint,
  name text NOT NULL,
  mime_type text NOT NULL,
  size bigint NOT NULL
);
CREATE TABLE troupe.artifact_run (
  run text COLLATE "C" NOT NULL,
  artifact text COLLATE "C" NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (run, artifact)
);
CREATE INDEX artifact_run_artifact ON troupe.artifact_run (artifact);
CREATE TABLE troupe.artifact_chunk (
  artifact text COLLATE "C" NOT NULL,
  n integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (artifact, n)
);
ALTER TABLE troupe.artifact_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE troupe.secret (
  name text COLLATE "C" PRIMARY KEY,
  value bytea NOT NULL
);

-- The nodes and their newest beats, which a crash of the server may lose: every node beats again.
CREATE UNLOGGED TABLE troupe.node (
  id text COLLATE "C" PRIMARY KEY,
  facts text NOT NULL,
  beat timestamptz NOT NULL
);

-- Written to find out whether the database takes writes again.
CREATE TABLE troupe.probe (written timestamptz NOT NULL);
INSERT INTO troupe.probe VALUES (now());
`;

/** The queued requests of a run, which has many others when it is old. */
export const QUEUED = "CREATE INDEX request_queued ON troupe.request (run) WHERE phase = 0";

/** The third change of the schema: the versions of agents that were served, and their files, each once. */
export const KEPT_VERSIONS = `
CREATE TABLE troupe.version (
  id text COLLATE "C" PRIMARY KEY,
  kept_at bigint NOT NULL,
  -- What the version is made of, and its authentication under a key that the database never sees.
  content text NOT NULL,
  mac text NOT NULL
);
CREATE TABLE troupe.version_file (
  digest text COLLATE "C" PRIMARY KEY,
  bytes bytea NOT NULL
);
`;

/**
 * The fifteenth change of the schema: a log in several databases. Each has a row that says which one of them it is. The first one
 * also has the table of the shards, and the reservations of what must be unique in all of them: the ids of requests and the names
 * of runs. They are known by their digests, so that nothing of an owner stays here.
 */
export const SHARDS: string = `
CREATE TABLE troupe.part (
  log text NOT NULL,
  number smallint NOT NULL,
  parts smallint NOT NULL
);
CREATE TABLE troupe.shard (
  shard smallint PRIMARY KEY,
  part smallint NOT NULL
);
CREATE TABLE troupe.reservation (
  key bytea PRIMARY KEY,
  run text COLLATE "C" NOT NULL,
  -- Names one state of the row.
  stamp bigint NOT NULL DEFAULT nextval('troupe.epoch')
);
`;

export const SHARDS_BACK = "DROP TABLE troupe.reservation, troupe.shard, troupe.part";
