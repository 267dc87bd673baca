/** Why an append of a claim was refused, in the schemas 11 to 15. */
export const REFUSAL_2: string = `CREATE OR REPLACE FUNCTION troupe.refusal_2(run_id text, claim bigint) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(
    (SELECT CASE WHEN run.removed AND run.epoch = claim
        THEN jsonb_build_array('gone')
        ELSE jsonb_build_array('fenced', run.epoch, coalesce(recent.appends, run.appends)) END
      FROM troupe.run LEFT JOIN troupe.recent ON recent.run = run.id WHERE run.id = run_id),
    jsonb_build_array('fenced', 0, 0))
$$;
`;

/** How the schemas 11 to 15 claim a run. */
export const CLAIM_3: string = `CREATE OR REPLACE FUNCTION troupe.claim_3(run_id text, node text, unless_owned_by text[], channel text,
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
    PERFORM troupe.end_recent_1(run_id);
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

/** How the schemas 11 to 18 append to several runs. */
export const APPEND_2: string = `CREATE OR REPLACE FUNCTION troupe.append_2(items jsonb, VARIADIC bodies text[]) RETURNS jsonb LANGUAGE plpgsql AS $$
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
          (value->4)::integer AS record_count, value->>5 AS records, bodies[ordinality] AS body, ordinality::integer AS place,
          (value->7)::boolean IS TRUE AS is_recent
        FROM jsonb_array_elements(items) WITH ORDINALITY WHERE jsonb_typeof(value->6) = 'null'
    ), grown AS (
      UPDATE troupe.recent SET
        appends = recent.appends + 1,
        count = recent.count + given.count,
        lines = given.body || E'\\n' || recent.lines
        FROM given
        WHERE given.is_recent AND recent.run = given.id AND recent.epoch = given.epoch AND recent.appends = given.appends
        RETURNING given.place
    ), held AS (
      -- Another claim waits until these are there, or comes first.
      SELECT given.* FROM given JOIN troupe.run ON run.id = given.id
        WHERE given.is_recent AND given.place NOT IN (SELECT place FROM grown)
          AND run.epoch = given.epoch AND run.appends = given.appends AND NOT run.removed
          AND NOT EXISTS (SELECT FROM troupe.recent WHERE recent.run = given.id)
        FOR NO KEY UPDATE OF run
    ), begun AS (
      INSERT INTO troupe.recent (run, epoch, appends, count, lines) SELECT id, epoch, appends + 1, count, body FROM held
    ), changed AS (
      UPDATE troupe.run SET
        head = run.head + coalesce(recent.count, 0) + given.count,
        records = run.records + given.record_count,
        appends = given.appends + 1,
        bytes = run.bytes + octet_length(given.body) + coalesce(octet_length(recent.lines), 0) + coalesce(octet_length(given.records), 0)
        FROM given LEFT JOIN troupe.recent ON recent.run = given.id
        WHERE NOT given.is_recent AND run.id = given.id AND run.epoch = given.epoch AND NOT run.removed
          AND coalesce(recent.appends, run.appends) = given.appends
        RETURNING run.id, run.head, run.appends AS n, coalesce(recent.count, 0) + given.count AS count, run.records AS records_end,
          troupe.join_lines_1(recent.lines, given.body) AS body, given.records, given.place
    ), ended AS (
      DELETE FROM troupe.recent USING changed WHERE recent.run = changed.id
    ), added AS (
      INSERT INTO troupe.batch (run, head, n, count, records_end, body, records)
        SELECT id, head, n, count, records_end, body, records FROM changed WHERE count > 0 OR records IS NOT NULL
    )
    SELECT array_agg(place) INTO landed
      FROM (SELECT place FROM grown UNION ALL SELECT place FROM held UNION ALL SELECT place FROM changed) AS done;

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
`;

/** How the schemas 11 to 18 append what changes more than events and records. */
export const APPEND_ONE_2: string = `CREATE OR REPLACE FUNCTION troupe.append_one_2(item jsonb, body text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  run_id text := item->>0;
  event_count integer := item->3;
  record_texts text := item->>5;
  changes jsonb := item->6;
  mark jsonb := changes->'run';
  new_base_head bigint := coalesce((changes->'base'->>0)::bigint, 0);
  new_base_records bigint := coalesce((changes->'base'->>1)::bigint, 0);
  now record;
  recent_appends bigint;
  recent_count integer;
  recent_lines text;
BEGIN
  SELECT max(recent.appends), coalesce(max(recent.count), 0), max(recent.lines) INTO recent_appends, recent_count, recent_lines
    FROM troupe.recent WHERE recent.run = run_id;
  UPDATE troupe.run SET
    head = greatest(head + recent_count, new_base_head) + event_count,
    records = greatest(records, new_base_records) + (item->4)::integer,
    appends = (item->2)::bigint + 1,
    bytes = bytes + octet_length(body) + coalesce(octet_length(recent_lines), 0) + coalesce(octet_length(record_texts), 0),
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
    snapshot_head = CASE WHEN changes ? 'snapshot' THEN greatest(head + recent_count, new_base_head) + event_count ELSE snapshot_head END,
    snapshot_records = CASE WHEN changes ? 'snapshot'
      THEN greatest(records, new_base_records) + (item->4)::integer ELSE snapshot_records END,
    base_head = greatest(base_head, new_base_head),
    base_records = greatest(base_records, new_base_records),
    base = coalesce(changes->'base'->>2, base)
    WHERE id = run_id AND epoch = (item->1)::bigint AND coalesce(recent_appends, appends) = (item->2)::bigint AND NOT removed
    RETURNING head, records, appends INTO now;
  IF NOT FOUND THEN
    RETURN troupe.refusal_2(run_id, (item->1)::bigint);
  END IF;
  IF (mark->10)::boolean THEN
    INSERT INTO troupe.creation (run) VALUES (run_id) ON CONFLICT (run) DO NOTHING;
  END IF;
  IF recent_count > 0 THEN
    DELETE FROM troupe.recent WHERE recent.run = run_id;
  END IF;
  -- They are before a base that the run had not reached.
  IF new_base_head > 0 AND new_base_head >= now.head - event_count THEN
    recent_count := 0;
    recent_lines := NULL;
  END IF;
  IF event_count + recent_count > 0 OR record_texts IS NOT NULL THEN
    INSERT INTO troupe.batch (run, head, n, count, records_end, body, records)
      VALUES (run_id, now.head, now.appends, event_count + recent_count, now.records,
        troupe.join_lines_1(recent_lines, append_one_2.body), record_texts);
  END IF;
  IF new_base_head > 0 THEN
    WITH dropped AS (
      DELETE FROM troupe.batch WHERE run = run_id AND head <= new_base_head AND records_end <= new_base_records
        RETURNING octet_length(batch.body) + coalesce(octet_length(batch.records), 0) AS size
    )
    UPDATE troupe.run SET bytes = greatest(bytes - (SELECT coalesce(sum(size), 0) FROM dropped), 0) WHERE id = run_id;
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

/**
 * The eleventh change of the schema: the newest small appends of a run are one row, which is ahead of the row of
 * the run. Each changes only that row, until an append follows that is more: it takes the lines into its own. A node of the version
 * before makes none. The functions are as in the changes before, with these rows.
 */
export const RECENT: string = `
-- The lines are in reverse order: the write-ahead log has only what is new of a row whose old end stays as it is. One that begins
-- with a comma continues the array of the line before it. Pages have room for many versions of few rows.
CREATE TABLE troupe.recent (
  run text COLLATE "C" PRIMARY KEY,
  epoch bigint NOT NULL,
  -- Those of the run with these, whose events follow those of the row of the run.
  appends bigint NOT NULL,
  count integer NOT NULL,
  lines text NOT NULL
) WITH (fillfactor = 25, toast_tuple_target = 8160);

-- The recent lines in their order, and those of an append that follows them.
CREATE FUNCTION troupe.join_lines_1(lines text, body text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  line text;
  joined text := nullif(body, '');
BEGIN
  IF lines IS NULL THEN
    RETURN body;
  END IF;
  FOREACH line IN ARRAY string_to_array(lines, E'\\n') LOOP
    joined := concat_ws(E'\\n', line, joined);
  END LOOP;
  RETURN replace(joined, E']\\n,', ',');
END $$;

-- Ends the recent appends of a run whose row is locked: they become one append.
CREATE FUNCTION troupe.end_recent_1(run_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  ended troupe.recent;
BEGIN
  DELETE FROM troupe.recent WHERE recent.run = run_id RETURNING * INTO ended;
  IF FOUND THEN
    UPDATE troupe.run SET head = head + ended.count, appends = ended.appends, bytes = bytes + octet_length(ended.lines)
      WHERE id = run_id;
    INSERT INTO troupe.batch (run, head, n, count, records_end, body)
      SELECT id, head, appends, ended.count, records, troupe.join_lines_1(ended.lines, '') FROM troupe.run WHERE id = run_id;
  END IF;
END $$;

${APPEND_2}
-- Why an append of a claim was refused.
${REFUSAL_2}
${APPEND_ONE_2}
${CLAIM_3}
-- Releases claims: pairs of a run and its epoch. A run without an append leaves nothing behind.
CREATE OR REPLACE FUNCTION troupe.release_1(items jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
BEGIN
  FOR item IN SELECT value FROM jsonb_array_elements(items) ORDER BY (value->>0) COLLATE "C" LOOP
    DELETE FROM troupe.run WHERE id = item->>0 AND epoch = (item->1)::bigint AND NOT stored AND NOT removed;
    UPDATE troupe.run SET owner = NULL, epoch = nextval('troupe.epoch')
      WHERE id = item->>0 AND epoch = (item->1)::bigint;
    IF FOUND THEN
      PERFORM troupe.end_recent_1(item->>0);
    END IF;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION troupe.remove_1(run_id text, at_epoch bigint, at_appends bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE troupe.run SET removed = true, owner = NULL, epoch = nextval('troupe.epoch'), appends = at_appends + 1,
    head = 0, records = 0, bytes = 0, agent = '', status = 0, created_at = 0,
    updated_at = (extract(epoch FROM clock_timestamp()) * 1000)::bigint, turns = 0, metadata = '{}',
    initial_input = 'null', started = NULL, last_turn = NULL, usage = NULL, snapshot = NULL, snapshot_head = NULL,
    snapshot_records = NULL, base_head = 0, base_records = 0, base = NULL
    WHERE id = run_id AND epoch = at_epoch AND at_appends = coalesce((SELECT recent.appends FROM troupe.recent WHERE recent.run = run_id), appends);
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE troupe.request SET removed = true, phase = 3, created_at = 0, accepted_n = 0, accepted_after = 0,
    started = NULL, segment = NULL, completed = NULL, wake_at = NULL, rests = NULL, waiting_for = NULL
    WHERE run = run_id;
  DELETE FROM troupe.batch WHERE run = run_id;
  DELETE FROM troupe.recent WHERE run = run_id;
  DELETE FROM troupe.alias WHERE run = run_id;
  DELETE FROM troupe.wait WHERE run = run_id;
  DELETE FROM troupe.outbox WHERE run = run_id;
  DELETE FROM troupe.schedule WHERE run = run_id;
  DELETE FROM troupe.reference WHERE run = run_id;
  DELETE FROM troupe.creation WHERE run = run_id;
  RETURN true;
END $$;

-- Like before; the newest small appends come as one row at the end. A row can have events behind the last one that is asked for.
CREATE OR REPLACE FUNCTION troupe.read_2(run_id text, from_head bigint, from_n bigint, after bigint, own_epoch bigint, own_head bigint,
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
  SELECT run.head + coalesce(recent.count, 0), run.epoch INTO head, n
    FROM troupe.run LEFT JOIN troupe.recent ON recent.run = run.id WHERE run.id = run_id;
  head := CASE WHEN n = own_epoch THEN least(head, own_head) ELSE coalesce(head, 0) END;
  newest := head;
  RETURN NEXT;
  FOR head, n, count, records_end, body, records IN
    SELECT batch.head, batch.n, batch.count, batch.records_end, batch.body, batch.records FROM troupe.batch
      WHERE batch.run = run_id AND (batch.head, batch.n) > (from_head, from_n) AND batch.head - greatest(batch.count, 1) < newest
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
  SELECT run.head + recent.count, recent.appends, recent.count, run.records, troupe.join_lines_1(recent.lines, ''), NULL
    INTO head, n, count, records_end, body, records
    FROM troupe.recent JOIN troupe.run ON run.id = recent.run
    WHERE recent.run = run_id AND run.head + recent.count > after AND run.head < newest;
  IF FOUND THEN
    IF used > max_bytes OR found_events >= max_events THEN
      head := NULL;
    END IF;
    RETURN NEXT;
  END IF;
END $$;
`;
