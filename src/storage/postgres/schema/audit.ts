/**
 * The sixth change of the schema: who did what. What is done to a run is in the append that it causes; a node of the version before
 * sends nothing of it. `append_one_2` is as in the change before, with the last statement.
 */
export const AUDIT: string = `
CREATE TABLE troupe.audit (
  n bigint GENERATED ALWAYS AS IDENTITY,
  at bigint NOT NULL,
  owner text COLLATE "C" NOT NULL,
  by_id text COLLATE "C" NOT NULL,
  by_name text,
  action smallint NOT NULL,
  run text COLLATE "C",
  request text,
  event bigint,
  detail text,
  times integer NOT NULL DEFAULT 1,
  PRIMARY KEY (at, n)
);
CREATE INDEX audit_owner ON troupe.audit (owner, at, n) WHERE owner <> 'default';
CREATE INDEX audit_by ON troupe.audit (by_id, at, n);
CREATE INDEX audit_run ON troupe.audit (run, at, n) WHERE run IS NOT NULL;
CREATE INDEX audit_action ON troupe.audit (action, at, n) WHERE action > 0;

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
  IF changes ? 'audit' THEN
    INSERT INTO troupe.audit (at, action, by_id, by_name, request, event, detail, owner, run)
      SELECT (value->>0)::bigint, (value->>1)::smallint, value->>2, value->>3, value->>4, (value->>5)::bigint, value->>6,
          changes->'audit'->>'owner', run_id
        FROM jsonb_array_elements(changes->'audit'->'entries');
  END IF;
  RETURN NULL;
END $$;
`;
