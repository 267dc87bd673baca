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
