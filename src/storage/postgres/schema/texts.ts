/**
 * The thirteenth change of the schema: the words of runs, with an index. They are written some time after the runs, by any node; until
 * then a run is due. A trigger notes it, so that also what a node of the version before writes is found. The words of a run with another owner
 * than `default` are there twice, once with the owner before them, so that a search among its runs reads no words of others.
 */
export const TEXTS: string = `
CREATE TABLE troupe.run_text (
  run text COLLATE "C" PRIMARY KEY,
  words tsvector NOT NULL
);
CREATE INDEX run_text_words ON troupe.run_text USING gin (words) WITH (gin_pending_list_limit = 256);
CREATE TABLE troupe.text_due (run text COLLATE "C" PRIMARY KEY);

CREATE FUNCTION troupe.text_due_1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO troupe.text_due (run) VALUES (NEW.id) ON CONFLICT (run) DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER text_due AFTER UPDATE OF stored, initial_input, metadata, last_turn, base_head ON troupe.run FOR EACH ROW
  WHEN (NEW.stored AND NOT NEW.removed AND (NOT OLD.stored OR OLD.last_turn IS DISTINCT FROM NEW.last_turn
    OR OLD.base_head <> NEW.base_head OR OLD.initial_input IS DISTINCT FROM NEW.initial_input OR OLD.metadata IS DISTINCT FROM NEW.metadata))
  EXECUTE FUNCTION troupe.text_due_1();

CREATE FUNCTION troupe.text_removed_1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM troupe.run_text WHERE run = NEW.id;
  DELETE FROM troupe.text_due WHERE run = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER text_removed AFTER UPDATE OF removed ON troupe.run FOR EACH ROW
  WHEN (NEW.removed AND NOT OLD.removed)
  EXECUTE FUNCTION troupe.text_removed_1();

-- It waits for a node that is writing the words of one of the runs, which may have read the alias already.
CREATE FUNCTION troupe.text_renamed_1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO troupe.text_due (run) VALUES (NEW.run) ON CONFLICT (run) DO UPDATE SET run = excluded.run;
  IF TG_OP = 'UPDATE' AND OLD.run <> NEW.run THEN
    INSERT INTO troupe.text_due (run) VALUES (OLD.run) ON CONFLICT (run) DO UPDATE SET run = excluded.run;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER text_renamed AFTER UPDATE OF run ON troupe.alias FOR EACH ROW
  WHEN (OLD.run <> NEW.run)
  EXECUTE FUNCTION troupe.text_renamed_1();

INSERT INTO troupe.text_due SELECT id FROM troupe.run WHERE stored AND NOT removed;
`;

/** What takes the thirteenth change back. The words are those of the runs, so nothing is lost. */
export const TEXTS_BACK = `
DROP TRIGGER text_due ON troupe.run;
DROP TRIGGER text_removed ON troupe.run;
DROP TRIGGER text_renamed ON troupe.alias;
DROP FUNCTION troupe.text_due_1;
DROP FUNCTION troupe.text_removed_1;
DROP FUNCTION troupe.text_renamed_1;
DROP TABLE troupe.run_text, troupe.text_due;
`;
