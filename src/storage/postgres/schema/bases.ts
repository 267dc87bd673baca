/**
 * The seventh change of the schema: the log of a run can begin behind a place, and dead letters have an index. A node of the version
 * before never moves a base. `append_one_2` is as in the change before, with a base.
 */
export const BASES: string = `
ALTER TABLE troupe.run ADD COLUMN base_head bigint NOT NULL DEFAULT 0;
ALTER TABLE troupe.run ADD COLUMN base_records bigint NOT NULL DEFAULT 0;
ALTER TABLE troupe.run ADD COLUMN base text;
CREATE INDEX outbox_dead ON troupe.outbox (run) WHERE kind = 3;

CREATE OR REPLACE FUNCTION troupe.append_one_2(item jsonb, body text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  run_id text := item->>0;
  event_count integer := item->3;
  record_texts text := item->>5;
  changes jsonb := item->6;
  mark jsonb := changes->'run';
  new_base_head bigint := coalesce((changes->'base'->>0)::bigint, 0);
  new_base_records bigint := coalesce((changes->'base'->>1)::bigint, 0);
  now record;
BEGIN
  UPDATE troupe.run SET
    head = greatest(head, new_base_head) + event_count,
    records = greatest(records, new_base_records) + (item->4)::integer,
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
    snapshot_head = CASE WHEN changes ? 'snapshot' THEN greatest(head, new_base_head) + event_count ELSE snapshot_head END,
    snapshot_records = CASE WHEN changes ? 'snapshot'
      THEN greatest(records, new_base_records) + (item->4)::integer ELSE snapshot_records END,
    base_head = greatest(base_head, new_base_head),
    base_records = greatest(base_records, new_base_records),
    base = coalesce(changes->'base'->>2, base)
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
  IF new_base_head > 0 THEN
    WITH dropped AS (
      DELETE FROM troupe.batch WHERE run = run_id AND head <= new_base_head AND records_end <= new_base_records
        RETURNING octet_length(batch.body) + coalesce(octet_length(batch.records), 0) AS size
    )
    UPDATE troupe.run SET bytes = bytes - (SELECT coalesce(sum(size), 0) FROM dropped) WHERE id = run_id;
  END IF;
  IF changes ?| ARRAY['alias', 'waits', 'requests', 'references', 'outbox'] THEN
    PERFORM troupe.change_1(run_id, changes - 'run' - 'snapshot' - 'base', now.head, now.records);
  END IF;
  IF changes ? 'audit' THEN
    INSERT INTO troupe.audit (at, action, by_id, by_name, request, event, detail, owner, run)
      SELECT (value->>0)::bigint, (value->>1)::smallint, value->>2, value->>3, value->>4, (value->>5)::bigint, value->>6,
          changes->'audit'->>'owner', run_id
        FROM jsonb_array_elements(changes->'audit'->'entries');
  END IF;
  RETURN NULL;
END $$;

-- Like remove_1.
CREATE OR REPLACE FUNCTION troupe.remove_1(run_id text, at_epoch bigint, at_appends bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE troupe.run SET removed = true, owner = NULL, epoch = nextval('troupe.epoch'), appends = appends + 1,
    head = 0, records = 0, bytes = 0, agent = '', status = 0, created_at = 0,
    updated_at = (extract(epoch FROM clock_timestamp()) * 1000)::bigint, turns = 0, metadata = '{}',
    initial_input = 'null', started = NULL, last_turn = NULL, usage = NULL, snapshot = NULL, snapshot_head = NULL,
    snapshot_records = NULL, base_head = 0, base_records = 0, base = NULL
    WHERE id = run_id AND epoch = at_epoch AND appends = at_appends;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE troupe.request SET removed = true, phase = 3, created_at = 0, accepted_n = 0, accepted_after = 0,
    started = NULL, segment = NULL, completed = NULL, wake_at = NULL, rests = NULL, waiting_for = NULL
    WHERE run = run_id;
  DELETE FROM troupe.batch WHERE run = run_id;
  DELETE FROM troupe.alias WHERE run = run_id;
  DELETE FROM troupe.wait WHERE run = run_id;
  DELETE FROM troupe.outbox WHERE run = run_id;
  DELETE FROM troupe.reference WHERE run = run_id;
  DELETE FROM troupe.creation WHERE run = run_id;
  RETURN true;
END $$;

-- Like read_1. If the run begins behind the position, the first row, which is then the only one, has its base in the last three
-- columns.
CREATE FUNCTION troupe.read_2(run_id text, from_head bigint, from_n bigint, after bigint, own_epoch bigint, own_head bigint,
  after_record bigint, max_bytes bigint, max_events bigint)
RETURNS TABLE (head bigint, n bigint, count integer, records_end bigint, body text, records text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  newest bigint;
  used bigint := 0;
  found_events bigint := 0;
BEGIN
  SELECT run.head, run.epoch, run.base_head, run.base_records, run.base INTO head, n, records_end, records, body
    FROM troupe.run WHERE run.id = run_id AND run.base_head > after;
  IF FOUND THEN
    RETURN NEXT;
    RETURN;
  END IF;
  SELECT run.head, run.epoch INTO head, n FROM troupe.run WHERE run.id = run_id;
  head := CASE WHEN n = own_epoch THEN least(head, own_head) ELSE coalesce(head, 0) END;
  newest := head;
  RETURN NEXT;
  FOR head, n, count, records_end, body, records IN
    SELECT batch.head, batch.n, batch.count, batch.records_end, batch.body, batch.records FROM troupe.batch
      WHERE batch.run = run_id AND (batch.head, batch.n) > (from_head, from_n) AND batch.head <= newest
        AND (batch.head > after OR batch.records_end > after_record)
      ORDER BY batch.head, batch.n
  LOOP
    IF used > max_bytes OR found_events >= max_events THEN
      head := NULL;
      RETURN NEXT;
      RETURN;
    END IF;
    used := used + octet_length(body) + coalesce(octet_length(records), 0);
    found_events := found_events + count;
    RETURN NEXT;
  END LOOP;
END $$;
`;
