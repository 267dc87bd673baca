/**
 * The tenth change of the schema: agents spend, too. A batch can have several spenders, and what is too old is removed of each. A
 * node of the version before writes only those that are owners. `append_one_2` is as in the change before, except for what is spent.
 */
export const SPENDERS: string = `
CREATE FUNCTION troupe.spend_1(marks jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  mark record;
BEGIN
  -- In one order, so that two nodes do not wait for each other.
  FOR mark IN
    SELECT value->>0 AS spender, (value->>1)::integer AS on_day, sum((value->>2)::bigint) AS tokens,
        sum((value->>3)::float8) AS cost, sum((value->>4)::bigint) AS raised_tokens, sum((value->>5)::float8) AS raised_cost
      FROM jsonb_array_elements(marks) GROUP BY 1, 2 ORDER BY 1, 2
  LOOP
    INSERT INTO troupe.spent AS known (owner, day, tokens, cost, raised_tokens, raised_cost)
      VALUES (mark.spender, mark.on_day, mark.tokens, mark.cost, mark.raised_tokens, mark.raised_cost)
      ON CONFLICT (owner, day) DO UPDATE SET tokens = known.tokens + excluded.tokens, cost = known.cost + excluded.cost,
        raised_tokens = known.raised_tokens + excluded.raised_tokens, raised_cost = known.raised_cost + excluded.raised_cost;
    DELETE FROM troupe.spent WHERE owner = mark.spender AND day <= mark.on_day - 400;
  END LOOP;
END $$;

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
  IF changes ? 'spent' THEN
    PERFORM troupe.spend_1(changes->'spent');
  END IF;
  IF changes->'alias'->>2 IS NOT NULL THEN
    UPDATE troupe.schedule SET run = run_id WHERE run = changes->'alias'->>2;
  END IF;
  FOR mark IN SELECT value FROM jsonb_array_elements(changes->'schedules') LOOP
    IF mark->>2 IS NULL THEN
      DELETE FROM troupe.schedule WHERE run = run_id AND id = mark->>0;
    ELSE
      INSERT INTO troupe.schedule (run, id, owner, due, data)
        SELECT run_id, mark->>0, belongs_to, (mark->>1)::bigint, mark->>2 FROM troupe.run WHERE run.id = run_id
        ON CONFLICT (run, id) DO UPDATE SET due = excluded.due, data = excluded.data;
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
`;
