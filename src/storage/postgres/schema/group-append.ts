/**
 * The second change of the schema. Appends that have only events and records, which most are, are committed by one statement
 * for all runs; an append changes the row of its run once; and only an append that can conflict with another run has a
 * subtransaction. The index of owners is not needed to read anything but the list of nodes: without it a claim and a release
 * change no index.
 */
export const GROUP_APPEND = `
DROP INDEX troupe.run_owner;

-- Like append_1.
CREATE FUNCTION troupe.append_2(items jsonb, VARIADIC bodies text[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
  at integer;
  refusal jsonb;
  refusals jsonb := '{}';
  plain integer;
  landed integer[];
BEGIN
  SELECT count(*) INTO plain FROM jsonb_array_elements(items) WHERE jsonb_typeof(value->6) = 'null';

  IF plain > 0 THEN
    WITH given AS (
      SELECT value->>0 AS id, (value->1)::bigint AS epoch, (value->2)::bigint AS appends, (value->3)::integer AS count,
          (value->4)::integer AS record_count, value->>5 AS records, bodies[ordinality] AS body, ordinality::integer AS place
        FROM jsonb_array_elements(items) WITH ORDINALITY WHERE jsonb_typeof(value->6) = 'null'
    ), changed AS (
      UPDATE troupe.run SET
        head = run.head + given.count,
        records = run.records + given.record_count,
        appends = run.appends + 1,
        bytes = run.bytes + octet_length(given.body) + coalesce(octet_length(given.records), 0)
        FROM given
        WHERE run.id = given.id AND run.epoch = given.epoch AND run.appends = given.appends AND NOT run.removed
        RETURNING run.id, run.head, run.appends AS n, given.count, run.records AS records_end, given.body, given.records, given.place
    ), added AS (
      INSERT INTO troupe.batch (run, head, n, count, records_end, body, records)
        SELECT id, head, n, count, records_end, body, records FROM changed WHERE count > 0 OR records IS NOT NULL
    )
    SELECT array_agg(place) INTO landed FROM changed;

    -- A statement of its own: it sees what another owner, or an earlier attempt, has committed meanwhile.
    IF plain > coalesce(cardinality(landed), 0) THEN
      SELECT coalesce(jsonb_object_agg((ordinality - 1)::text, troupe.refusal_2(value->>0, (value->1)::bigint)), '{}') INTO refusals
        FROM jsonb_array_elements(items) WITH ORDINALITY
        WHERE jsonb_typeof(value->6) = 'null' AND NOT ordinality = ANY (coalesce(landed, '{}'));
    END IF;
  END IF;

  IF plain < jsonb_array_length(items) THEN
    FOR item, at IN SELECT value, ordinality FROM jsonb_array_elements(items) WITH ORDINALITY
      WHERE jsonb_typeof(value->6) <> 'null' ORDER BY ordinality
    LOOP
      -- Another run can have the alias or a new request. Of one append alone everything is caught.
      IF item->6 ? 'alias' OR jsonb_path_exists(item->6, '$.requests[*][2] ? (@ != null)') OR jsonb_array_length(items) = 1 THEN
        BEGIN
          refusal := troupe.append_one_2(item, bodies[at]);
        EXCEPTION WHEN SQLSTATE 'TR001' THEN
          refusal := jsonb_build_array('conflict', SQLERRM);
        END;
      ELSE
        refusal := troupe.append_one_2(item, bodies[at]);
      END IF;
      IF refusal IS NOT NULL THEN
        refusals := refusals || jsonb_build_object((at - 1)::text, refusal);
      END IF;
    END LOOP;
  END IF;
  RETURN refusals;
END $$;

-- Why an append of a claim was refused.
CREATE FUNCTION troupe.refusal_2(run_id text, claim bigint) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(
    (SELECT CASE WHEN removed AND epoch = claim
        THEN jsonb_build_array('gone')
        ELSE jsonb_build_array('fenced', epoch, appends) END
      FROM troupe.run WHERE id = run_id),
    jsonb_build_array('fenced', 0, 0))
$$;

-- An append that changes more than events and records.
CREATE FUNCTION troupe.append_one_2(item jsonb, body text) RETURNS jsonb LANGUAGE plpgsql AS $$
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

-- Like claim_1; a run that is new has its owner at once.
CREATE FUNCTION troupe.claim_2(run_id text, node text, unless_owned_by text[], channel text,
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
    SELECT run.id, owner, stored, removed, agent, status, created_at, updated_at, turns, metadata, initial_input, started,
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
