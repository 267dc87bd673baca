/** The columns that are added up, in the order of a mark, and their types. */
export const STATISTIC_COLUMNS: readonly (readonly [name: string, type: string])[] = [
  ["count", "bigint"],
  ["ms", "bigint"],
  ["input_tokens", "bigint"],
  ["cached_tokens", "bigint"],
  ["output_tokens", "bigint"],
  ["reasoning_tokens", "bigint"],
  ["cost", "double precision"],
  ["unknown_costs", "bigint"],
  ...Array.from({ length: 12 }, (_, place) => [`d${place}`, "bigint"] as const),
];

const NAMES = STATISTIC_COLUMNS.map(([name]) => name);

/** The function that schemas 12 and 13 append with. */
export const APPEND_3: string = `-- Like append_2, and counts what has landed, in one order, so that two statements with the same part do not wait for each other.
CREATE FUNCTION troupe.append_3(items jsonb, VARIADIC bodies text[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  refusals jsonb := troupe.append_2(items, VARIADIC bodies);
  own_part integer := 0;
BEGIN
  WHILE own_part < 7 AND NOT pg_try_advisory_xact_lock(hashtext('troupe.statistic'), own_part) LOOP
    own_part := own_part + 1;
  END LOOP;
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
  DELETE FROM troupe.statistic
    WHERE hour <= (SELECT max((mark->>0)::bigint) - 9600 FROM jsonb_path_query(items, '$[*][6].statistics[*]') AS mark);
  RETURN refusals;
END $$;
`;

/**
 * The twelfth change of the schema: what turns and completions have done and used, by hours since 1970. A node of the version before
 * does not count its own.
 */
export const STATISTICS: string = `
-- Each of the statements that run at the same time adds to rows of a part of its own, so that none waits for the disk of another.
CREATE TABLE troupe.statistic (
  hour bigint NOT NULL,
  owner text COLLATE "C" NOT NULL,
  kind smallint NOT NULL,
  agent text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  part smallint NOT NULL,
  run text COLLATE "C",
  ${STATISTIC_COLUMNS.map(([name, type]) => `${name} ${type} NOT NULL`).join(",\n  ")},
  PRIMARY KEY (hour, owner, kind, agent, name, outcome, part)
) WITH (fillfactor = 50);

${APPEND_3}`;

/** What takes the twelfth change back, and loses all that was counted. */
export const STATISTICS_BACK = "DROP FUNCTION troupe.append_3; DROP TABLE troupe.statistic";
