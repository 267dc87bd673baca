import { createHash } from "node:crypto";
import { TOKEN } from "./templates.ts";
import type { Template } from "./templates.ts";

/** The copies are of so many owners, a twentieth of them of the first one. */
export const OWNERS = 10_000;
/** The copies are of so many days, up to now. */
export const DAYS = 360;
/** So many copies that follow each other have a lot, which is a word of them. */
export const LOT = 500;

/** What copying needs of an engine. */
export interface Engine {
  /** What is before the name of a table. */
  readonly schema: string;
  run(text: string): Promise<void>;
  rows(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** The columns of a table that are given with a row. */
  columns(table: string): Promise<readonly Column[]>;
  /** The tables that have rows of runs, and the column that says of which. */
  readonly tables: Readonly<Record<string, string>>;
  /** The value of that column in the rows of a template. */
  keyOf(template: Template): Promise<string>;
  /** Columns whose values are not as those of a template with other ids and times, of each table or, under `*`, of all. */
  readonly given: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** The numbers from 1 to another one, in a column `i`. */
  series(count: number): string;
  /** A number with so many hexadecimal digits, or decimal ones. */
  digits(number: string, count: number, isHex: boolean): string;
  /** A time in milliseconds as events have it. */
  time(ms: string): string;
  /** The order of texts in which all of them can be compared. */
  readonly collation: string;
}

export interface Column {
  readonly name: string;
  readonly isText: boolean;
}

/**
 * Copies the rows that the runtime has written for templates, in each table, so many times in all: with ids, an owner, a lot and times of
 * their own. Nothing else may have the log open. The sums of the statistics are taken back, and the engine makes them again.
 */
export async function copyRuns(engine: Engine, templates: readonly Template[], count: number): Promise<void> {
  await prepare(engine, templates, count);
  for (const table of Object.keys(engine.tables)) {
    const startedAt = performance.now();
    await copyTable(engine, templates, table, count);
    console.log(`years: ${table} filled in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
  }
  await copyStatistics(engine, templates);
  for (const table of ["owner", "template", "made"]) await engine.run(`DROP TABLE temp_${table}`);
}

/** The copies, each with its template and what is its own. */
async function prepare(engine: Engine, templates: readonly Template[], count: number): Promise<void> {
  const { schema, run, rows, tables, keyOf, digits } = engine;
  await run("CREATE TEMP TABLE temp_owner (n integer PRIMARY KEY, name text, word text)");
  const owners = Array.from({ length: OWNERS }, (_, n) => `(${n}, '${nameOf(n)}', '${wordOf(nameOf(n))}')`);
  for (let n = 0; n < OWNERS; n += 500)
    await run(`INSERT INTO temp_owner VALUES ${owners.slice(n, n + 500).join()}`);

  await run(`CREATE TEMP TABLE temp_template (n integer PRIMARY KEY, started_at text, started_ms bigint,
    ended_at text, ended_ms bigint)`);
  let share = 0;
  let cases = "";
  for (const [n, template] of templates.entries()) {
    const [row] = await rows(
      `SELECT last_turn FROM ${schema}run WHERE ${tables["run"]} = ${await keyOf(template)}`,
    );
    const turn = JSON.parse((row?.["last_turn"] ?? "{}") as string) as Readonly<Record<string, string>>;
    const times = TIMES.map((name) => `'${turn[name] ?? ""}', ${Date.parse(turn[name] ?? "") || "NULL"}`);
    await run(`INSERT INTO temp_template VALUES (${n}, ${times.join()})`);
    share += template.share;
    cases += ` WHEN (i * 61803) % 100000 < ${share} THEN ${n}`;
  }
  if (share !== 100_000) throw new Error("the shares of the templates are not 100,000");

  // Of a number that looks like chance, the third power: few owners have many runs.
  const chance = "((i * 7919) % 1000003)";
  const third = `(${chance} * ${chance} / 1000003 * ${chance} / 1000003)`;
  const step = Math.floor((DAYS * 86_400_000) / count);
  await run(
    `CREATE TEMP TABLE temp_made (i integer PRIMARY KEY, template integer, id text, owner text, word text, lot text, shift bigint)`,
  );
  await run(`INSERT INTO temp_made SELECT i, CASE ${cases} END, ${digits("(i * 2654435761) % 4294967296", 8, true)},
      temp_owner.name, temp_owner.word, ${digits(`i / ${LOT}`, 8, false)}, (i - ${count}) * ${step}
    FROM ${engine.series(count)} JOIN temp_owner ON temp_owner.n = ${third} * ${OWNERS} / 1000003 ORDER BY i`);
}

const TIMES = ["started_at", "ended_at"] as const;

export function nameOf(owner: number): string {
  return `owner-${owner}`;
}

/** The word that is before the words of an owner, as the search makes it. */
function wordOf(owner: string): string {
  const digest = createHash("sha256").update(owner).digest("base64url");
  return digest.replaceAll(/[-_]/g, "x").slice(0, 16).toLowerCase();
}

async function copyTable(
  engine: Engine,
  templates: readonly Template[],
  table: string,
  count: number,
): Promise<void> {
  const { schema, run, tables, collation } = engine;
  const columns = await engine.columns(table);
  const given = { ...engine.given["*"], ...engine.given[table] };
  const values = columns.map(({ name, isText }) => {
    const value = `one.${name}`;
    if (given[name] !== undefined) return given[name];
    if (name === "last_turn") return retimed(engine, renamed(value, collation));
    if (isText) return renamed(value, collation);
    return SHIFTED.has(name) ? `${value} + temp_made.shift` : value;
  });
  const rows = templates.map(
    async (template, n) =>
      `SELECT ${n} AS template, source.* FROM ${schema}${table} AS source WHERE ${tables[table]} = ${await engine.keyOf(template)}`,
  );
  await run(`CREATE TEMP TABLE one AS ${(await Promise.all(rows)).join(" UNION ALL ")}`);
  for (let from = 1; from <= count; from += TOGETHER)
    await run(`INSERT INTO ${schema}${table} (${columns.map(({ name }) => name).join()})
      SELECT ${values.join()} FROM temp_made CROSS JOIN temp_template CROSS JOIN one
      WHERE temp_made.i >= ${from} AND temp_made.i < ${from + TOGETHER}
        AND temp_template.n = temp_made.template AND one.template = temp_made.template
      ORDER BY temp_made.i`);
  await run("DROP TABLE one");
}

/** The columns with times in milliseconds that are in the past. */
const SHIFTED: ReadonlySet<string> = new Set(
  "created updated opened at created_at updated_at opened_at".split(" "),
);

/** So many copies are one statement. */
const TOGETHER = 25_000;

/** With the ids, the owner and the lot of a copy. */
export function renamed(value: string, collation: string): string {
  const own = [TOKEN.id, "id", TOKEN.owner, "owner", TOKEN.lot, "lot"];
  let text = `${value} COLLATE ${collation}`;
  for (let at = 0; at < own.length; at += 2)
    text = `replace(${text}, '${own[at]}', temp_made.${own[at + 1]})`;
  return text;
}

/** The words of a run, some of which have the owner before them. */
export function renamedWords(value: string, collation: string): string {
  return `replace(${renamed(value, collation)}, '${wordOf(TOKEN.owner)}', temp_made.word)`;
}

function retimed({ time }: Engine, value: string): string {
  return TIMES.reduce((text, name) => {
    const at = time(`temp_template.${name.replace("_at", "_ms")} + temp_made.shift`);
    return `replace(${text}, '"${name}":"' || temp_template.${name} || '"', '"${name}":"' || ${at} || '"')`;
  }, value);
}

/** Counts the turns of the copies that have ended, in the hours of their ends. */
async function copyStatistics(
  { schema, run, columns, collation }: Engine,
  templates: readonly Template[],
): Promise<void> {
  const keys: Readonly<Record<string, string>> = {
    hour: "(temp_template.ended_ms + temp_made.shift) / 3600000",
    owner: "temp_made.owner",
    kind: "one.kind",
    agent: "one.agent",
    name: "one.name",
    outcome: "one.outcome",
  };
  const names = (await columns("statistic")).map(({ name }) => name);
  const values = names.map((name) => {
    if (name === "run") return `max(${renamed("one.run", collation)})`;
    return keys[name] ?? (name === "part" ? "0" : `sum(one.${name})`);
  });
  const cases = templates.map(({ agent }, n) => `WHEN '${agent}' THEN ${n}`).join(" ");
  await run(`CREATE TEMP TABLE one AS SELECT CASE agent ${cases} END AS template, source.*
    FROM ${schema}statistic AS source WHERE owner = '${TOKEN.owner}'`);
  await run(`INSERT INTO ${schema}statistic (${names.join()})
    SELECT ${values.join()} FROM temp_made JOIN temp_template ON temp_template.n = temp_made.template
      JOIN one ON one.template = temp_template.n
    WHERE temp_template.ended_ms IS NOT NULL
    GROUP BY ${Object.values(keys).join()} ORDER BY ${Object.values(keys).join()}`);
  await run("DROP TABLE one");
  await run(`UPDATE ${schema}statistic_place SET summed = 0, version = version + 1`);
}
