/**
 * The fifth change of the schema: runs belong to owners. `owner` is the node that has claimed a run, so the column is
 * `belongs_to`. A node of the version before gives no owner with an append, which then stays as it is, so that function keeps
 * its name.
 */
export const REQUEST_IS_OWNED: string = "strpos(request, '/') > 0";

/** The owner of a wait is behind the slash of its request. */
export const REQUEST_OWNER: string = "substr(request, strpos(request, '/') + 1)";

export const OWNERS: string = `
ALTER TABLE troupe.run ADD COLUMN belongs_to text COLLATE "C" NOT NULL DEFAULT 'default';
-- Without the runs of the owner default: a server without owners writes no more indexes.
CREATE INDEX run_belongs_to ON troupe.run (belongs_to, updated_at DESC, id)
  WHERE stored AND NOT removed AND belongs_to <> 'default';
CREATE INDEX run_belongs_to_agent ON troupe.run (belongs_to, agent, updated_at DESC, id)
  WHERE stored AND NOT removed AND belongs_to <> 'default';
CREATE INDEX wait_owner ON troupe.wait ((${REQUEST_OWNER}), opened_at, run, id) WHERE ${REQUEST_IS_OWNED};

CREATE OR REPLACE FUNCTION troupe.append_one_2(item jsonb, body text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  run_id text := item->>0;
  event_count integer := item->3;
  record_texts text := item->>5;
  changes jsonb := item->6;
  mark jsonb := changes->'run';
  now record;
BEGIN
  UPDATE troupe.run SET
    head = head + event_count,
    records = records + (item->4)::integer,
    appends = appends + 1,
    bytes = bytes + octet_length(body) + coalesce(octet_length(record_texts), 0),
    stored = stored OR mark IS NOT NULL,
    agent = coalesce(mark->>0, agent),
    belongs_to = coalesce(mark->>11, belongs_to),
    status = coalesce((mark->1)::smallint, status),
    created_at = coalesce((mark->2)::bigint, created_at),
    updated_at = coalesce((mark->3)::bigint, updated_at),
    turns = coalesce((mark->4)::bigint, turns),
    started = CASE WHEN mark IS NULL THEN started ELSE mark->>5 END,
    metadata = coalesce(mark->>6, metadata),
    initial_input = coalesce(mark->>7, initial_input),
    last_turn = nullif(coalesce(mark->>8, last_turn), 'null'),
    usage = nullif(coalesce(mark->>9, usage), 'null'),
    snapshot = coalesce(changes->>'snapshot', snapshot),
    snapshot_head = CASE WHEN changes ? 'snapshot' THEN head + event_count ELSE snapshot_head END,
    snapshot_records = CASE WHEN changes ? 'snapshot' THEN records + (item->4)::integer ELSE snapshot_records END
    WHERE id = run_id AND epoch = (item->1)::bigint AND appends = (item->2)::bigint AND NOT removed
    RETURNING head, records, appends INTO now;
  IF NOT FOUND THEN
    RETURN troupe.refusal_2(run_id, (item->1)::bigint);
  END IF;
  IF (mark->10)::boolean THEN
    INSERT INTO troupe.creation (run) VALUES (run_id) ON CONFLICT (run) DO NOTHING;
  END IF;
  IF event_count > 0 OR record_texts IS NOT NULL THEN
    INSERT INTO troupe.batch (run, head, n, count, records_end, body, records)
      VALUES (run_id, now.head, now.appends, event_count, now.records, append_one_2.body, record_texts);
  END IF;
  IF changes ?| ARRAY['alias', 'waits', 'requests', 'references', 'outbox'] THEN
    PERFORM troupe.change_1(run_id, changes - 'run' - 'snapshot', now.head, now.records);
  END IF;
  RETURN NULL;
END $$;

-- Like claim_2; the row has the node and the owner.
CREATE FUNCTION troupe.claim_3(run_id text, node text, unless_owned_by text[], channel text,
  OUT holder text, OUT claim bigint, OUT claimed json)
LANGUAGE plpgsql AS $$
DECLARE
  earlier text;
BEGIN
  INSERT INTO troupe.run (id, epoch, owner) VALUES (run_id, nextval('troupe.epoch'), node)
    ON CONFLICT (id) DO NOTHING RETURNING epoch INTO claim;
  IF claim IS NULL THEN
    SELECT owner INTO earlier FROM troupe.run WHERE id = run_id FOR NO KEY UPDATE;
    IF earlier = ANY (unless_owned_by) THEN
      holder := earlier;
      RETURN;
    END IF;
    UPDATE troupe.run SET epoch = nextval('troupe.epoch'), owner = node WHERE id = run_id RETURNING epoch INTO claim;
    IF earlier <> node THEN
      PERFORM pg_notify(channel, format('%s %s:%s', node, claim, run_id));
    END IF;
  END IF;
  -- A statement of its own: it sees what the earlier owner appended while this claim waited for it.
  SELECT row_to_json(own) INTO claimed FROM (
    SELECT run.id, owner AS node, belongs_to AS owner, stored, removed, agent, status, created_at, updated_at, turns, metadata, initial_input, started,
      last_turn, usage, head, appends, records, snapshot, snapshot_head, snapshot_records,
      CASE WHEN status > 0 THEN (SELECT count(*) FROM troupe.wait WHERE wait.run = run.id) END AS open_waits,
      CASE WHEN status > 0 THEN
        (SELECT count(*) FROM troupe.request WHERE request.run = run.id AND phase = 0) END AS queued,
      CASE WHEN status > 0 THEN (SELECT wake_at FROM troupe.request WHERE request.id = run.started) END AS wake_at,
      (SELECT min(name) FROM troupe.alias WHERE alias.run = run.id) AS alias
      FROM troupe.run WHERE run.id = run_id
  ) AS own;
END $$;
`;
