import { addOwners, addTotals, DAY, HOUR, OWNER_SUMS, WEEK } from "../../sql/statistic-sums.ts";
import { APPEND_3, STATISTIC_COLUMNS } from "./statistics.ts";

const NAMES = STATISTIC_COLUMNS.map(([name]) => name);
const TABLE = "troupe.statistic";
const OF_HOUR = "FROM troupe.statistic WHERE hour = next_hour";
const OF_GONE = "FROM gone WHERE hour < place.summed";

/** How the schemas 14 to 18 append and count. */
export const APPEND_3_WITH_SUMS: string = `CREATE OR REPLACE FUNCTION troupe.append_3(items jsonb, VARIADIC bodies text[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  refusals jsonb := troupe.append_2(items, VARIADIC bodies);
  own_part integer := 0;
  oldest bigint;
  newest bigint;
BEGIN
  WHILE own_part < 7 AND NOT pg_try_advisory_xact_lock(hashtext('troupe.statistic'), own_part) LOOP
    own_part := own_part + 1;
  END LOOP;
  PERFORM pg_advisory_xact_lock_shared(hashtext('troupe.statistic_place'), 0);
  INSERT INTO troupe.statistic AS known (hour, owner, kind, agent, name, outcome, part, run, ${NAMES.join(", ")})
    SELECT (mark.value->>0)::bigint, mark.value->>1, (mark.value->>2)::smallint, mark.value->>3, mark.value->>4, mark.value->>5,
        own_part, max(mark.value->>6),
        ${STATISTIC_COLUMNS.map(([, type], at) => `sum((mark.value->>${at + 7})::${type})`).join(", ")}
      FROM jsonb_array_elements(items) WITH ORDINALITY AS item (value, place),
        jsonb_array_elements(item.value->6->'statistics') AS mark (value)
      WHERE NOT refusals ? (item.place - 1)::text
      GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
    ON CONFLICT (hour, owner, kind, agent, name, outcome, part) DO UPDATE SET run = coalesce(excluded.run, known.run),
      ${NAMES.map((name) => `${name} = known.${name} + excluded.${name}`).join(", ")};
  SELECT min((mark->>0)::bigint), max((mark->>0)::bigint) INTO oldest, newest
    FROM jsonb_path_query(items, '$[*][6].statistics[*]') AS mark;
  IF oldest < (SELECT summing FROM troupe.statistic_place) THEN
    PERFORM FROM troupe.statistic_place FOR UPDATE;
    UPDATE troupe.statistic_place SET summed = oldest / 168 * 168, version = version + 1 WHERE summed > oldest;
  END IF;
  IF (SELECT min(hour) FROM troupe.statistic) <= newest - 9600 THEN
    DELETE FROM troupe.statistic WHERE hour <= newest - 9600;
  END IF;
  RETURN refusals;
END $$;
`;

/**
 * The fourteenth change of the schema: sums of the hours before `summed`, which is the first hour that is not in them: of all owners
 * by the hour and the day, of each owner by the day and the week. `hour` is the first one of a sum, and `span` how many they are. They are
 * written some time after the hours, by any node, also those of all hours that are there. What changes an hour before
 * `summing` later takes back the sums of its week, also what a node of the version before does.
 */
export const SUMS_OF_HOURS: string = `
CREATE TABLE troupe.statistic_sum (
  span smallint NOT NULL,
  hour bigint NOT NULL,
  kind smallint NOT NULL,
  agent text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  ${STATISTIC_COLUMNS.map(([name, type]) => `${name} ${type} NOT NULL`).join(",\n  ")},
  PRIMARY KEY (span, hour, kind, agent, name, outcome)
);
CREATE TABLE troupe.statistic_owner (
  span smallint NOT NULL,
  hour bigint NOT NULL,
  owner text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  ${OWNER_SUMS.map(([name]) => `${name} ${name === "cost" ? "double precision" : "bigint"} NOT NULL`).join(",\n  ")},
  PRIMARY KEY (span, hour, owner, outcome)
);
CREATE TABLE troupe.statistic_place (summed bigint NOT NULL, summing bigint NOT NULL, version bigint NOT NULL);
INSERT INTO troupe.statistic_place VALUES (0, 0, 0);
CREATE INDEX statistic_failed ON troupe.statistic (hour) WHERE run IS NOT NULL;

-- As before, and takes back sums that lack what has landed. An append that does not see that an hour is to be summed up has committed
-- before this begins: it has the shared lock.
${APPEND_3_WITH_SUMS}
-- Decides that the hours before one are summed up, when all appends have ended that do not know it.
CREATE FUNCTION troupe.begin_sums_1(until bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('troupe.statistic_place'), 0);
  UPDATE troupe.statistic_place SET summing = greatest(summing, until);
END $$;

-- Sums up the next hours; returns whether it could: another node may do so at this moment.
CREATE FUNCTION troupe.sum_hours_1() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  place troupe.statistic_place;
  next_hour bigint;
  week bigint;
  counted bigint := 0;
BEGIN
  SELECT * INTO place FROM troupe.statistic_place FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  WHILE place.summed < place.summing AND counted < 2000 LOOP
    next_hour := (SELECT min(hour) FROM troupe.statistic WHERE hour >= place.summed);
    IF next_hour IS NULL OR next_hour >= place.summing THEN
      -- Sums that were taken back, of hours that were removed since.
      DELETE FROM troupe.statistic_sum WHERE span IN (1, 24) AND hour >= place.summed;
      DELETE FROM troupe.statistic_owner WHERE span IN (24, 168) AND hour >= place.summed;
      place.summed := place.summing;
      EXIT;
    END IF;
    week := next_hour / 168 * 168;
    IF week >= place.summed THEN
      DELETE FROM troupe.statistic_sum WHERE span IN (1, 24) AND hour >= place.summed AND hour < week + 168;
      DELETE FROM troupe.statistic_owner WHERE span IN (24, 168) AND hour >= place.summed AND hour < week + 168;
    END IF;
    ${addTotals(TABLE, HOUR, OF_HOUR)};
    ${addTotals(TABLE, DAY, OF_HOUR)};
    ${addOwners(TABLE, DAY, OF_HOUR)};
    ${addOwners(TABLE, WEEK, OF_HOUR)};
    counted := counted + (SELECT count(*) ${OF_HOUR});
    place.summed := next_hour + 1;
  END LOOP;
  UPDATE troupe.statistic_place SET summed = place.summed;
  RETURN true;
END $$;

-- What is removed is taken away from the sums.
CREATE FUNCTION troupe.statistic_gone_1() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  place troupe.statistic_place;
  oldest bigint;
  newest bigint;
BEGIN
  SELECT min(hour), max(hour) INTO oldest, newest FROM gone;
  IF oldest IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT * INTO place FROM troupe.statistic_place FOR UPDATE;
  ${addTotals(TABLE, HOUR, OF_GONE, "-")};
  ${addTotals(TABLE, DAY, OF_GONE, "-")};
  ${addOwners(TABLE, DAY, OF_GONE, "-")};
  ${addOwners(TABLE, WEEK, OF_GONE, "-")};
  DELETE FROM troupe.statistic_sum
    WHERE span IN (1, 24) AND hour > oldest - 24 AND hour <= newest AND count = 0;
  DELETE FROM troupe.statistic_owner
    WHERE span IN (24, 168) AND hour > oldest - 168 AND hour <= newest AND turns = 0 AND completions = 0;
  RETURN NULL;
END $$;
CREATE TRIGGER statistic_gone AFTER DELETE ON troupe.statistic
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION troupe.statistic_gone_1();
`;

/** What takes the fourteenth change back. The sums are of what is still there, so nothing is lost. */
export const SUMS_OF_HOURS_BACK: string = `
DROP TRIGGER statistic_gone ON troupe.statistic;
DROP FUNCTION troupe.statistic_gone_1;
DROP FUNCTION troupe.sum_hours_1;
DROP FUNCTION troupe.begin_sums_1;
DROP INDEX troupe.statistic_failed;
DROP TABLE troupe.statistic_sum, troupe.statistic_owner, troupe.statistic_place;
${APPEND_3.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")}`;
