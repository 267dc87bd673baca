import { CLAIM_3, REFUSAL_2 } from "./recent.ts";

/** Its number. Nodes of older schemas must not open one database of several: they do not look whether a shard has moved. */
export const SHARD_MOVES_VERSION = 16;

/** Finds the runs of a shard. Only a database of several has it. */
export const SHARD_INDEX = "CREATE INDEX IF NOT EXISTS run_shard ON troupe.run (troupe.shard_of_1(id))";

/** From then on no node of an older schema opens the database: it would take it for the whole log. */
export const KEEP_OLDER_OUT: string = `INSERT INTO troupe.migration SELECT version, now() FROM troupe.expansion
  WHERE version <= ${SHARD_MOVES_VERSION} ON CONFLICT (version) DO NOTHING`;

/**
 * The sixteenth change of the schema: shards move between the databases of a log. In the first database, `part` has the shard, `copy` may
 * have a copy of it that does not count, and each change of the row has a greater number. In each database, `closed` has the shards whose
 * runs no node may claim there. A run of a closed shard has its epochs below zero, so that no append finds it; where the shard is opened
 * again, here or in another database, it has them again, and its owner continues.
 */
export const SHARD_MOVES: string = `
ALTER TABLE troupe.shard ADD COLUMN copy smallint;
ALTER TABLE troupe.shard ADD COLUMN move bigint NOT NULL DEFAULT 0;
CREATE INDEX shard_move ON troupe.shard (move);
CREATE TABLE troupe.closed (
  shard smallint PRIMARY KEY,
  move bigint NOT NULL
);

-- In the first database: the numbers of those that have nothing of the log, which opens without them.
CREATE TABLE troupe.emptied (number smallint PRIMARY KEY);
-- The numbers of databases whose sums and audit trail were added to those of this one, until they are deleted there.
CREATE TABLE troupe.taken (number smallint PRIMARY KEY);

CREATE FUNCTION troupe.shard_of_1(run_id text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT get_byte(sha256(convert_to(run_id, 'UTF8')), 0) * 16 + get_byte(sha256(convert_to(run_id, 'UTF8')), 1) / 16
$$;

DO $$ BEGIN
  IF EXISTS (SELECT FROM troupe.part) THEN
    ${SHARD_INDEX};
    ${KEEP_OLDER_OUT};
  END IF;
END $$;

-- Fails if the shard of a run is closed. Until the end of the transaction it cannot be closed then.
CREATE FUNCTION troupe.check_open_1(run_id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM troupe.part) THEN
    PERFORM pg_advisory_xact_lock_shared(hashtext('troupe.shard'), troupe.shard_of_1(run_id));
    IF EXISTS (SELECT FROM troupe.closed WHERE shard = troupe.shard_of_1(run_id)) THEN
      RAISE EXCEPTION USING ERRCODE = 'TR002', MESSAGE = 'the shard of the run is being moved';
    END IF;
  END IF;
END $$;

-- Closes a shard with the number of a move, unless a later one has closed it. Returns whether it is closed with this number.
CREATE FUNCTION troupe.close_shard_1(closed_shard integer, at_move bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  run_id text;
BEGIN
  -- Waits for the claims that have found it open.
  PERFORM pg_advisory_xact_lock(hashtext('troupe.shard'), closed_shard);
  INSERT INTO troupe.closed AS known (shard, move) VALUES (closed_shard, at_move)
    ON CONFLICT (shard) DO UPDATE SET move = excluded.move WHERE known.move <= excluded.move;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  FOR run_id IN SELECT id FROM troupe.run WHERE troupe.shard_of_1(id) = closed_shard AND epoch > 0 ORDER BY id LOOP
    PERFORM FROM troupe.run WHERE id = run_id FOR NO KEY UPDATE;
    UPDATE troupe.recent SET epoch = -epoch WHERE run = run_id AND epoch > 0;
    UPDATE troupe.run SET epoch = -epoch WHERE id = run_id AND epoch > 0;
  END LOOP;
  RETURN true;
END $$;

-- Switches a shard to the database that has its copy, if no other change of its row has come; returns the number of this change. One
-- statement, because its runs wait.
CREATE FUNCTION troupe.switch_shard_1(moved_shard integer, at_move bigint, channel text, message text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  new_move bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('troupe.shard'), -1);
  UPDATE troupe.shard SET part = copy, copy = part, move = nextval('troupe.epoch')
    WHERE shard = moved_shard AND move = at_move RETURNING move INTO new_move;
  PERFORM pg_notify(channel, message);
  RETURN new_move;
END $$;

-- Opens a shard that a move before one has closed.
CREATE FUNCTION troupe.open_shard_1(opened_shard integer, before_move bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('troupe.shard'), opened_shard);
  DELETE FROM troupe.closed WHERE shard = opened_shard AND move < before_move;
  IF FOUND THEN
    UPDATE troupe.recent SET epoch = -recent.epoch FROM troupe.run
      WHERE recent.run = run.id AND troupe.shard_of_1(run.id) = opened_shard AND recent.epoch < 0;
    UPDATE troupe.run SET epoch = -epoch WHERE troupe.shard_of_1(id) = opened_shard AND epoch < 0;
  END IF;
END $$;

${CLAIM_3.replace("BEGIN\n", "BEGIN\n  PERFORM troupe.check_open_1(run_id);\n")}
-- As before; a run that has moved away is not lost.
${REFUSAL_2.replace(
  "jsonb_build_array('fenced', 0, 0)",
  `CASE WHEN EXISTS (SELECT FROM troupe.closed WHERE shard = troupe.shard_of_1(run_id))
      THEN jsonb_build_array('fenced', -1, ${Number.MAX_SAFE_INTEGER}) ELSE jsonb_build_array('fenced', 0, 0) END`,
)}`;

/** What takes the sixteenth change back. It is refused while a shard has a copy, which the schema before would show as well. */
export const SHARD_MOVES_BACK: string = `
${CLAIM_3}
${REFUSAL_2}
DROP FUNCTION troupe.open_shard_1;
DROP FUNCTION troupe.switch_shard_1;
DROP FUNCTION troupe.close_shard_1;
DROP FUNCTION troupe.check_open_1;
DROP INDEX IF EXISTS troupe.run_shard;
DROP FUNCTION troupe.shard_of_1;
DROP TABLE troupe.closed, troupe.emptied, troupe.taken;
DROP INDEX troupe.shard_move;
ALTER TABLE troupe.shard DROP COLUMN move;
ALTER TABLE troupe.shard DROP COLUMN copy;
`;
