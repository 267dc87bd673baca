import { APPEND_2, APPEND_ONE_2 } from "./recent.ts";
import { APPEND_3_WITH_SUMS } from "./statistic-sums.ts";
import { STATISTIC_COLUMNS } from "./statistics.ts";

const NAMES = STATISTIC_COLUMNS.map(([name]) => name);

/**
 * The nineteenth change of the schema: the first append of a new run claims it, if it names the node that does; and the functions do less for
 * an append. Each is applied alone, by statements for what it has: one for all kinds of all appends costs more than the few that go together.
 * The functions keep their names, because they do the same for what a node of the version before sends.
 */
export const APPENDS: string = `
CREATE OR REPLACE FUNCTION troupe.append_2(items jsonb, VARIADIC bodies text[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
  run_id text;
  claim bigint;
  known bigint;
  event_count integer;
  refusal jsonb;
  refusals jsonb := '{}';
BEGIN
  FOR at IN 1 .. cardinality(bodies) LOOP
    item := items->(at - 1);
    IF item->7 = 'true' THEN
      run_id := item->>0;
      claim := item->1;
      known := item->2;
      event_count := item->3;
      UPDATE troupe.recent SET appends = recent.appends + 1, count = recent.count + event_count, lines = bodies[at] || E'\\n' || recent.lines
        WHERE recent.run = run_id AND recent.epoch = claim AND recent.appends = known;
      CONTINUE WHEN FOUND;
      -- Another claim waits until these are there, or comes first.
      PERFORM FROM troupe.run WHERE run.id = run_id AND run.epoch = claim AND run.appends = known AND NOT run.removed
        AND NOT EXISTS (SELECT FROM troupe.recent WHERE recent.run = run_id) FOR NO KEY UPDATE;
      IF FOUND THEN
        INSERT INTO troupe.recent (run, epoch, appends, count, lines) VALUES (run_id, claim, known + 1, event_count, bodies[at]);
        CONTINUE;
      END IF;
      refusal := troupe.refusal_2(run_id, claim);
    -- Another run can have the alias or a new request. Of one append alone everything is caught.
    ELSIF item->6 ? 'alias' OR jsonb_path_exists(item->6, '$.requests[*][2] ? (@ != null)') OR (cardinality(bodies) = 1 AND jsonb_typeof(item->6) <> 'null') THEN
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
  RETURN refusals;
END $$;

-- An append that does not only grow the recent ones.
CREATE OR REPLACE FUNCTION troupe.append_one_2(item jsonb, body text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  run_id text := item->>0;
  claim bigint := item->1;
  known bigint := item->2;
  event_count integer := item->3;
  record_count integer := item->4;
  record_texts text := item->>5;
  changes jsonb := item->6;
  claimant text := item->>7;
  mark jsonb := changes->'run';
  new_base_head bigint := 0;
  new_base_records bigint := 0;
  now record;
  recent_appends bigint;
  recent_count integer := 0;
  recent_lines text;
BEGIN
  IF changes ? 'base' THEN
    new_base_head := changes->'base'->0;
    new_base_records := changes->'base'->1;
  END IF;
  IF claimant IS NOT NULL THEN
    -- A database that has lost its newest commits may give the number of the claim again.
    INSERT INTO troupe.run (id, epoch, owner, head, records, appends, bytes, stored, agent, belongs_to, status, created_at, updated_at,
        turns, started, metadata, initial_input, last_turn, usage, snapshot, snapshot_head, snapshot_records, base_head, base_records, base)
      SELECT run_id, claim, claimant, new_base_head + event_count, new_base_records + record_count, 1,
          octet_length(body) + coalesce(octet_length(record_texts), 0), true, mark->>0, mark->>11, (mark->1)::smallint, (mark->2)::bigint,
          (mark->3)::bigint, (mark->4)::bigint, mark->>5, mark->>6, mark->>7, nullif(mark->>8, 'null'), nullif(mark->>9, 'null'),
          changes->>'snapshot',
          CASE WHEN changes ? 'snapshot' THEN new_base_head + event_count END,
          CASE WHEN changes ? 'snapshot' THEN new_base_records + record_count END,
          new_base_head, new_base_records, changes->'base'->>2
        WHERE claim <= pg_sequence_last_value('troupe.epoch')
      ON CONFLICT (id) DO NOTHING
      RETURNING head, records, appends INTO now;
  ELSE
    SELECT recent.appends, recent.count, recent.lines INTO recent_appends, recent_count, recent_lines
      FROM troupe.recent WHERE recent.run = run_id;
    recent_count := coalesce(recent_count, 0);
    IF mark IS NULL AND NOT (changes ?| ARRAY['snapshot', 'base']) IS TRUE THEN
      UPDATE troupe.run SET
        head = head + recent_count + event_count,
        records = records + record_count,
        appends = known + 1,
        bytes = bytes + octet_length(body) + coalesce(octet_length(recent_lines), 0) + coalesce(octet_length(record_texts), 0)
        WHERE id = run_id AND epoch = claim AND coalesce(recent_appends, appends) = known AND NOT removed
        RETURNING head, records, appends INTO now;
    ELSE
      UPDATE troupe.run SET
        head = greatest(head + recent_count, new_base_head) + event_count,
        records = greatest(records, new_base_records) + record_count,
        appends = known + 1,
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
          THEN greatest(records, new_base_records) + record_count ELSE snapshot_records END,
        base_head = greatest(base_head, new_base_head),
        base_records = greatest(base_records, new_base_records),
        base = coalesce(changes->'base'->>2, base)
        WHERE id = run_id AND epoch = claim AND coalesce(recent_appends, appends) = known AND NOT removed
        RETURNING head, records, appends INTO now;
    END IF;
  END IF;
  IF NOT FOUND THEN
    RETURN troupe.refusal_2(run_id, claim);
  END IF;
  IF (mark->10)::boolean THEN
    INSERT INTO troupe.creation (run) VALUES (run_id) ON CONFLICT (run) DO NOTHING;
    IF claimant IS NOT NULL THEN
      INSERT INTO troupe.text_due (run) VALUES (run_id) ON CONFLICT (run) DO NOTHING;
    END IF;
  END IF;
  IF recent_count > 0 THEN
    DELETE FROM troupe.recent WHERE recent.run = run_id;
    -- They are before a base that the run had not reached.
    IF new_base_head > 0 AND new_base_head >= now.head - event_count THEN
      recent_count := 0;
      recent_lines := NULL;
    END IF;
  END IF;
  IF event_count + recent_count > 0 OR record_texts IS NOT NULL THEN
    INSERT INTO troupe.batch (run, head, n, count, records_end, body, records)
      VALUES (run_id, now.head, now.appends, event_count + recent_count, now.records,
        troupe.join_lines_1(recent_lines, append_one_2.body), record_texts);
  END IF;
  IF jsonb_typeof(changes) = 'null' THEN
    RETURN NULL;
  END IF;
  IF new_base_head > 0 THEN
    WITH dropped AS (
      DELETE FROM troupe.batch WHERE run = run_id AND head <= new_base_head AND records_end <= new_base_records
        RETURNING octet_length(batch.body) + coalesce(octet_length(batch.records), 0) AS size
    )
    UPDATE troupe.run SET bytes = greatest(bytes - (SELECT coalesce(sum(size), 0) FROM dropped), 0) WHERE id = run_id;
  END IF;
  IF changes ?| ARRAY['alias', 'waits', 'requests', 'references', 'outbox'] THEN
    PERFORM troupe.change_2(run_id, changes);
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
  IF changes ? 'schedules' THEN
    FOR mark IN SELECT value FROM jsonb_array_elements(changes->'schedules') LOOP
      IF mark->>2 IS NULL THEN
        DELETE FROM troupe.schedule WHERE run = run_id AND id = mark->>0;
      ELSE
        INSERT INTO troupe.schedule (run, id, owner, due, data)
          SELECT run_id, mark->>0, belongs_to, (mark->>1)::bigint, mark->>2 FROM troupe.run WHERE run.id = run_id
          ON CONFLICT (run, id) DO UPDATE SET due = excluded.due, data = excluded.data;
      END IF;
    END LOOP;
  END IF;
  RETURN NULL;
END $$;

-- Like change_1, without the row of the run.
CREATE FUNCTION troupe.change_2(run_id text, changes jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  mark jsonb;
BEGIN
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
  IF changes ? 'waits' THEN
    FOR mark IN SELECT value FROM jsonb_array_elements(changes->'waits') LOOP
      IF (mark->3)::boolean THEN
        DELETE FROM troupe.wait WHERE run = run_id AND id = (mark->0)::bigint;
      ELSE
        INSERT INTO troupe.wait (run, id, request, opened_at)
          VALUES (run_id, (mark->0)::bigint, mark->>1, (mark->2)::bigint)
          ON CONFLICT (run, id) DO UPDATE SET request = excluded.request, opened_at = excluded.opened_at;
      END IF;
    END LOOP;
  END IF;
  IF changes ? 'requests' THEN
    FOR at IN 0 .. jsonb_array_length(changes->'requests') - 1 LOOP
      mark := changes->'requests'->at;
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
  END IF;
  IF changes ? 'references' THEN
    FOR mark IN SELECT value FROM jsonb_array_elements(changes->'references') LOOP
      IF (mark->1)::boolean THEN
        DELETE FROM troupe.reference WHERE run = run_id AND thing = mark->>0;
      ELSE
        INSERT INTO troupe.reference (run, thing) VALUES (run_id, mark->>0) ON CONFLICT DO NOTHING;
      END IF;
    END LOOP;
  END IF;
  IF changes ? 'outbox' THEN
    FOR mark IN SELECT value FROM jsonb_array_elements(changes->'outbox') LOOP
      IF (mark->3)::boolean THEN
        DELETE FROM troupe.outbox WHERE run = run_id AND request = mark->>0 AND kind = (mark->1)::smallint;
      ELSE
        INSERT INTO troupe.outbox (run, event, request, kind)
          VALUES (run_id, (mark->2)::bigint, mark->>0, (mark->1)::smallint) ON CONFLICT DO NOTHING;
      END IF;
    END LOOP;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION troupe.append_3(items jsonb, VARIADIC bodies text[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  refusals jsonb := troupe.append_2(items, VARIADIC bodies);
  own_part integer := 0;
  oldest bigint;
  newest bigint;
  summing_until bigint;
  first_hour bigint;
BEGIN
  WHILE own_part < 7 AND NOT pg_try_advisory_xact_lock(hashtext('troupe.statistic'), own_part) LOOP
    own_part := own_part + 1;
  END LOOP;
  PERFORM pg_advisory_xact_lock_shared(hashtext('troupe.statistic_place'), 0);
  WITH counted AS (
    INSERT INTO troupe.statistic AS known (hour, owner, kind, agent, name, outcome, part, run, ${NAMES.join(", ")})
      SELECT (mark.value->>0)::bigint, mark.value->>1, (mark.value->>2)::smallint, mark.value->>3, mark.value->>4, mark.value->>5,
          own_part, max(mark.value->>6),
          ${STATISTIC_COLUMNS.map(([, type], at) => `sum((mark.value->>${at + 7})::${type})`).join(", ")}
        FROM jsonb_array_elements(items) WITH ORDINALITY AS item (value, place),
          jsonb_array_elements(item.value->6->'statistics') AS mark (value)
        WHERE NOT refusals ? (item.place - 1)::text
        GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
      ON CONFLICT (hour, owner, kind, agent, name, outcome, part) DO UPDATE SET run = coalesce(excluded.run, known.run),
        ${NAMES.map((name) => `${name} = known.${name} + excluded.${name}`).join(", ")}
      RETURNING hour
  )
  SELECT min(counted.hour), max(counted.hour), (SELECT summing FROM troupe.statistic_place), (SELECT min(statistic.hour) FROM troupe.statistic)
    INTO oldest, newest, summing_until, first_hour FROM counted;
  IF oldest < summing_until THEN
    PERFORM FROM troupe.statistic_place FOR UPDATE;
    UPDATE troupe.statistic_place SET summed = oldest / 168 * 168, version = version + 1 WHERE summed > oldest;
  END IF;
  IF first_hour <= newest - 9600 THEN
    DELETE FROM troupe.statistic WHERE hour <= newest - 9600;
  END IF;
  RETURN refusals;
END $$;
`;

/** What takes the nineteenth change back. */
export const APPENDS_BACK: string = `
${APPEND_2}
${APPEND_ONE_2}
${APPEND_3_WITH_SUMS}
DROP FUNCTION troupe.change_2;
`;
