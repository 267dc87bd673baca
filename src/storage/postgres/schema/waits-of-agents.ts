/**
 * The seventeenth change of the schema: the waits of an agent have an index. The column has the agent of the run, also of what a node of the
 * version before writes.
 */
export const WAITS_OF_AGENTS: string = `
ALTER TABLE troupe.wait ADD COLUMN agent text COLLATE "C";
UPDATE troupe.wait SET agent = run.agent FROM troupe.run WHERE run.id = wait.run;
CREATE INDEX wait_agent ON troupe.wait (agent, opened_at, run, id);

CREATE FUNCTION troupe.wait_opened_1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A row that is copied to another database can come before its run.
  NEW.agent := coalesce((SELECT agent FROM troupe.run WHERE id = NEW.run), NEW.agent);
  RETURN NEW;
END $$;
CREATE TRIGGER wait_opened BEFORE INSERT ON troupe.wait FOR EACH ROW EXECUTE FUNCTION troupe.wait_opened_1();

-- A copy has its agent when it is whole.
CREATE FUNCTION troupe.waits_given_1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE troupe.wait SET agent = NEW.agent WHERE run = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER waits_given AFTER UPDATE OF agent ON troupe.run FOR EACH ROW
  WHEN (OLD.stored AND NOT NEW.removed AND OLD.agent <> NEW.agent)
  EXECUTE FUNCTION troupe.waits_given_1();
`;

/** What takes the seventeenth change back. The agents of the waits are those of their runs, so nothing is lost. */
export const WAITS_OF_AGENTS_BACK: string = `
DROP TRIGGER wait_opened ON troupe.wait;
DROP TRIGGER waits_given ON troupe.run;
DROP FUNCTION troupe.wait_opened_1, troupe.waits_given_1;
ALTER TABLE troupe.wait DROP COLUMN agent;
`;
