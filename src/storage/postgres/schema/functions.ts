/**
 * The functions. A changed one gets a new name, so that nodes of both versions can use the database during a rolling
 * update.
 */
export const FUNCTIONS = `
-- Appends to runs: each all or nothing, and each that fails is left out. Returns the refusals by index: why, and the
-- claim and the number of appends of the run. An item is: run, epoch, appends, events, records, records as JSON, changes.
CREATE FUNCTION troupe.append_1(items jsonb, VARIADIC bodies text[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
  refusal jsonb;
  refusals jsonb := '{}';
  at integer := 0;
BEGIN
  FOR item IN SELECT value FROM jsonb_array_elements(items) LOOP
    at := at + 1;
    IF jsonb_typeof(item->6) = 'null' THEN
      refusal := troupe.append_one_1(item, bodies[at]);
    ELSE
      -- A subtransaction, only for what can conflict with another run.
      BEGIN
        refusal := troupe.append_one_1(item, bodies[at]);
      EXCEPTION WHEN SQLSTATE 'TR001' THEN
        refusal := jsonb_build_array('conflict', SQLERRM);
      END;
    END IF;
    IF refusal IS NOT NULL THEN
      refusals := refusals || jsonb_build_object((at - 1)::text, refusal);
    END IF;
  END LOOP;
  RETURN refusals;
END $$;

CREATE FUNCTION troupe.append_one_1(item jsonb, body text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  run_id text := item->>0;
  event_count integer := item->3;
  record_count integer := item->4;
  record_texts text := item->>5;
  changes jsonb := item->6;
  now record;
BEGIN
  UPDATE troupe.run SET
    head = head + event_count,
    records = records + record_count,
    appends = appends + 1,
    bytes = bytes + octet_length(body) + coalesce(octet_length(record_texts), 0)
    WHERE id = run_id AND epoch = (item->1)::bigint AND appends = (item->2)::bigint AND NOT removed
    RETURNING head, records, appends INTO now;
  IF NOT FOUND THEN
    SELECT epoch, appends, removed INTO now FROM troupe.run WHERE id = run_id;
    RETURN CASE WHEN now.removed AND now.epoch = (item->1)::bigint
      THEN jsonb_build_array('gone')
      ELSE jsonb_build_array('fenced', coalesce(now.epoch, 0), coalesce(now.appends, 0)) END;
  END IF;
  IF event_count > 0 OR record_count > 0 THEN
    INSERT INTO troupe.batch (run, head, n, count, records_end, body, records)
      VALUES (run_id, now.head, now.appends, event_count, now.records, append_one_1.body, record_texts);
  END IF;
  IF jsonb_typeof(changes) = 'object' THEN
    PERFORM troupe.change_1(run_id, changes, now.head, now.records);
  END IF;
  RETURN NULL;
END $$;

-- Applies what an append changes beside its events and records. In marks, null means unchanged.
CREATE FUNCTION troupe.change_1(run_id text, changes jsonb, new_head bigint, new_records bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  mark jsonb;
BEGIN
  mark := changes->'run';
  IF mark IS NOT NULL THEN
    UPDATE troupe.run SET
      stored = true,
      agent = mark->>0,
      status = (mark->1)::smallint,
      created_at = (mark->2)::bigint,
      updated_at = (mark->3)::bigint,
      turns = (mark->4)::bigint,
      started = mark->>5,
      metadata = coalesce(mark->>6, metadata),
      initial_input = coalesce(mark->>7, initial_input),
      last_turn = nullif(coalesce(mark->>8, last_turn), 'null'),
      usage = nullif(coalesce(mark->>9, usage), 'null')
      WHERE id = run_id;
    IF (mark->10)::boolean THEN
      INSERT INTO troupe.creation (run) VALUES (run_id) ON CONFLICT (run) DO NOTHING;
    END IF;
  END IF;

  mark := changes->'alias';
  IF mark IS NOT NULL THEN
    IF mark->>2 IS NULL THEN
      INSERT INTO troupe.alias AS known (agent, name, run) VALUES (mark->>0, mark->>1, run_id)
        ON CONFLICT (agent, name) DO UPDATE SET run = excluded.run WHERE known.run = excluded.run;
    ELSE
      UPDATE troupe.alias SET run = run_id
        WHERE agent = mark->>0 AND name = mark->>1 AND run IN (run_id, mark->>2);
    END IF;
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'TR001', MESSAGE =
        CASE WHEN mark->>2 IS NULL THEN 'another run has' ELSE format('run %s does not have', mark->>2) END || ' the alias ' || (mark->>1);
    END IF;
  END IF;

  FOR mark IN SELECT value FROM jsonb_array_elements(changes->'waits') LOOP
    IF (mark->3)::boolean THEN
      DELETE FROM troupe.wait WHERE run = run_id AND id = (mark->0)::bigint;
    ELSE
      INSERT INTO troupe.wait (run, id, request, opened_at)
        VALUES (run_id, (mark->0)::bigint, mark->>1, (mark->2)::bigint)
        ON CONFLICT (run, id) DO UPDATE SET request = excluded.request, opened_at = excluded.opened_at;
    END IF;
  END LOOP;

  FOR mark IN SELECT value FROM jsonb_array_elements(changes->'requests') LOOP
    INSERT INTO troupe.request AS known (id, run, phase, created_at, accepted_n, accepted_after, started, segment,
        completed, wake_at, rests, waiting_for)
      VALUES (mark->>0, run_id, (mark->1)::smallint, coalesce((mark->>2)::bigint, 0),
        coalesce((mark->>3)::bigint, 0), coalesce((mark->>4)::bigint, 0), (mark->>5)::bigint, (mark->>6)::bigint,
        (mark->>7)::bigint, nullif((mark->>8)::bigint, 0), nullif(mark->>9, '[]'), nullif(mark->>10, ''))
      ON CONFLICT (id) DO UPDATE SET
        phase = excluded.phase,
        created_at = coalesce((mark->>2)::bigint, known.created_at),
        accepted_n = coalesce((mark->>3)::bigint, known.accepted_n),
        accepted_after = coalesce((mark->>4)::bigint, known.accepted_after),
        started = coalesce(excluded.started, known.started),
        segment = coalesce(excluded.segment, known.segment),
        completed = coalesce(excluded.completed, known.completed),
        wake_at = nullif(coalesce((mark->>8)::bigint, known.wake_at), 0),
        rests = nullif(coalesce(mark->>9, known.rests), '[]'),
        waiting_for = nullif(coalesce(mark->>10, known.waiting_for), '')
        WHERE known.run = excluded.run;
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'TR001', MESSAGE = format('request %s belongs to another run', mark->>0);
    END IF;
    IF (mark->1)::smallint = 3 THEN
      DELETE FROM troupe.wait WHERE run = run_id AND request = mark->>0;
    END IF;
  END LOOP;

  FOR mark IN SELECT value FROM jsonb_array_elements(changes->'references') LOOP
    IF (mark->1)::boolean THEN
      DELETE FROM troupe.reference WHERE run = run_id AND thing = mark->>0;
    ELSE
      INSERT INTO troupe.reference (run, thing) VALUES (run_id, mark->>0) ON CONFLICT DO NOTHING;
    END IF;
  END LOOP;

  FOR mark IN SELECT value FROM jsonb_array_elements(changes->'outbox') LOOP
    IF (mark->3)::boolean THEN
      DELETE FROM troupe.outbox WHERE run = run_id AND request = mark->>0 AND kind = (mark->1)::smallint;
    ELSE
      INSERT INTO troupe.outbox (run, event, request, kind)
        VALUES (run_id, (mark->2)::bigint, mark->>0, (mark->1)::smallint) ON CONFLICT DO NOTHING;
    END IF;
  END LOOP;

  IF changes ? 'snapshot' THEN
    UPDATE troupe.run SET snapshot = changes->>'snapshot', snapshot_head = new_head, snapshot_records = new_records
      WHERE id = run_id;
  END IF;
END $$;

-- Claims a run for a node; returns the claim and the row, or the owner if it is one of those that the claim spares. An owner that loses its run hears
-- of it with the claim, before the new one has written anything.
CREATE FUNCTION troupe.claim_1(run_id text, node text, unless_owned_by text[], channel text,
  OUT holder text, OUT claim bigint, OUT claimed json)
LANGUAGE plpgsql AS $$
DECLARE
  earlier text;
BEGIN
  INSERT INTO troupe.run (id, epoch) VALUES (run_id, nextval('troupe.epoch')) ON CONFLICT (id) DO NOTHING;
  SELECT owner INTO earlier FROM troupe.run WHERE id = run_id FOR NO KEY UPDATE;
  IF earlier = ANY (unless_owned_by) THEN
    holder := earlier;
    RETURN;
  END IF;
  UPDATE troupe.run SET epoch = nextval('troupe.epoch'), owner = node WHERE id = run_id RETURNING epoch INTO claim;
  IF earlier <> node THEN
    PERFORM pg_notify(channel, format('%s %s:%s', node, claim, run_id));
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

-- Releases claims: pairs of a run and its epoch. A run without an append leaves nothing behind.
CREATE FUNCTION troupe.release_1(items jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
BEGIN
  FOR item IN SELECT value FROM jsonb_array_elements(items) ORDER BY (value->>0) COLLATE "C" LOOP
    DELETE FROM troupe.run WHERE id = item->>0 AND epoch = (item->1)::bigint AND NOT stored AND NOT removed;
    UPDATE troupe.run SET owner = NULL, epoch = nextval('troupe.epoch')
      WHERE id = item->>0 AND epoch = (item->1)::bigint;
  END LOOP;
END $$;

-- Removes the content of a claimed run, but keeps its id and those of its requests. Returns whether the claim held.
CREATE FUNCTION troupe.remove_1(run_id text, at_epoch bigint, at_appends bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE troupe.run SET removed = true, owner = NULL, epoch = nextval('troupe.epoch'), appends = appends + 1,
    head = 0, records = 0, bytes = 0, agent = '', status = 0, created_at = 0,
    updated_at = (extract(epoch FROM clock_timestamp()) * 1000)::bigint, turns = 0, metadata = '{}',
    initial_input = 'null', started = NULL, last_turn = NULL, usage = NULL, snapshot = NULL, snapshot_head = NULL,
    snapshot_records = NULL
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

-- Reads the appends of a run after a position, until they have enough bytes; for its owner only up to an event, if its
-- claim still holds. The first row has the head and the epoch of the run in place of an append; a last row without values
-- says that there are more.
CREATE FUNCTION troupe.read_1(run_id text, from_head bigint, from_n bigint, after bigint, own_epoch bigint, own_head bigint,
  after_record bigint, max_bytes bigint, max_events bigint)
RETURNS TABLE (head bigint, n bigint, count integer, records_end bigint, body text, records text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  newest bigint;
  used bigint := 0;
  found_events bigint := 0;
BEGIN
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

-- Gives a place in the order of creation to the runs that have none yet.
CREATE FUNCTION troupe.place_new_1() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM troupe.creation WHERE place IS NULL) THEN
    LOCK TABLE troupe.creation IN SHARE UPDATE EXCLUSIVE MODE;
    UPDATE troupe.creation SET place = coming.place
      FROM (
        SELECT run, row_number() OVER (ORDER BY seq) + (SELECT coalesce(max(place), 0) FROM troupe.creation) AS place
          FROM troupe.creation WHERE place IS NULL
      ) AS coming
      WHERE creation.run = coming.run;
  END IF;
END $$;
`;
