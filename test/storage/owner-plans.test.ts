/** @module-tag long */
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import type { RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { POSTGRES } from "../../src/storage/postgres/dialect.ts";
import { postgresLog } from "../../src/storage/postgres/index.ts";
import type { SqlDialect } from "../../src/storage/sql/dialect.ts";
import { createIndexQueries } from "../../src/storage/sql/queries.ts";
import type { SqlQuery } from "../../src/storage/sql/query.ts";
import { createSchema } from "../../src/storage/sqlite/format/schema.ts";
import { SQLITE } from "../../src/storage/sqlite/reader/dialect.ts";
import { needsPostgres } from "../machine/postgres.ts";
import { newDatabase } from "./postgres/databases.ts";

/** All that is asked for one owner, as the routes of its user do. */
function questionsOf(dialect: SqlDialect): Readonly<Record<string, SqlQuery<unknown>>> {
  const queries = createIndexQueries(dialect);
  const one = { owner: "acme", limit: 50 };
  const run = `run_${"x".repeat(21)}` as RunId;
  return {
    "its runs": queries.list(one),
    "the oldest of them": queries.list({ ...one, oldestFirst: true }),
    "those of an agent": queries.list({ ...one, agent: "clerk" }),
    "those that wait": queries.list({ ...one, status: "waiting" }),
    "those that do not": queries.list({ ...one, status: "idle" }),
    "those that failed": queries.list({ ...one, failed: true }),
    "those of an agent that failed": queries.list({ ...one, agent: "clerk", failed: true }),
    "those of an agent that wait": queries.list({ ...one, agent: "clerk", status: "waiting" }),
    "its runs by creation": queries.list({ ...one, byCreation: true }),
    "those of an agent by creation": queries.list({ ...one, agent: "clerk", byCreation: true }),
    "the number of its runs": queries.count(one, 10_000),
    "the number of those of an agent": queries.count({ ...one, agent: "clerk", status: "waiting" }, 10_000),
    "its waits": queries.waits(one),
    "those of an agent, waits": queries.waits({ ...one, agent: "clerk" }),
    "those of a run, waits": queries.waits({ ...one, runId: run }),
    "its requests": queries.requestsOfRuns(one),
    "those of an agent, requests": queries.requestsOfRuns({ ...one, agent: "clerk" }),
    "those that wait, requests": queries.requestsOfRuns({ ...one, phase: "waiting" }),
    "those in the queue": queries.requestsOfRuns({ ...one, phase: "queued" }),
    "the newest of them": queries.requestsOfRuns({ ...one, updatedAfter: 5 }),
    "the next page of them": queries.requestsOfRuns({ ...one, cursor: `5.${run}.req_x` }),
    "the rest of a run":
      queries.restOfRun({ ...one, cursor: `5.${run}.req_x` }) ?? queries.requestsOfRuns(one),
    "its schedules": queries.schedules(one),
    "their number": queries.countSchedules(one),
    "who did what": queries.audit(one),
    "what someone did": queries.audit({ ...one, by: "ann" }),
    "who did a thing": queries.audit({ ...one, action: "erase" }),
    "what it has spent": queries.spentOn({ owner: "acme", day: 20_000 }),
    "a run": queries.run(run, "acme"),
    "a request": queries.lookup("req_x", "acme"),
    "the run of a key": queries.find({ owner: "acme", agent: "clerk", name: "ann" }),
  };
}

/** What leads straight to the rows of one owner, one run or one request. */
const SEEKS = /\((?:owner|<expr>|rid|rowid|run_id|request_id|agent=\? AND alias)=\?/;

test("SQLite finds all that is asked for an owner by an index whose first column leads to it", () => {
  using database = new DatabaseSync(":memory:");
  createSchema(database);
  for (const [what, { text, values }] of Object.entries(questionsOf(SQLITE))) {
    const plan = database
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all(...values.map((value) => (typeof value === "object" ? JSON.stringify(value) : value)))
      .map(({ detail }) => String(detail))
      // What is counted was found by another step.
      .filter((detail) => /^(?:SCAN|SEARCH)/.test(detail) && detail !== "SCAN counted");
    expect([what, plan.length > 0, plan.filter((detail) => !SEEKS.test(detail))]).toEqual([what, true, []]);
  }
});

needsPostgres();

test("PostgreSQL finds all that is asked for an owner without looking at the rows of others", async () => {
  const url = await newDatabase();
  const log = await postgresLog({ url });
  await log.close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // 1,000 owners with ten runs each, every one of which waits.
    await client.query(`
      INSERT INTO troupe.run (id, epoch, stored, agent, belongs_to, status, created_at, updated_at, turns, metadata, initial_input)
        SELECT 'run_' || n, 1, true, 'clerk', 'owner-' || n % 1000, 2, n, n, 1, '{}', 'null' FROM generate_series(1, 10000) AS n;
      INSERT INTO troupe.creation (run, place) SELECT 'run_' || n, n FROM generate_series(1, 10000) AS n;
      INSERT INTO troupe.request (id, run, phase, created_at, accepted_n, accepted_after)
        SELECT 'req_' || n || '/owner-' || n % 1000, 'run_' || n, 2, n, 1, 0 FROM generate_series(1, 10000) AS n;
      INSERT INTO troupe.wait (run, id, request, opened_at)
        SELECT 'run_' || n, 3, 'req_' || n || '/owner-' || n % 1000, n FROM generate_series(1, 10000) AS n;
      INSERT INTO troupe.audit (at, owner, by_id, action, run)
        SELECT n, 'owner-' || n % 1000, 'ann', n % 3, 'run_' || n FROM generate_series(1, 10000) AS n;
      ANALYZE`);
    /** The most rows that a step of a question reads or leaves out. */
    const mostOf = async ({ text, values }: SqlQuery<unknown>): Promise<number> => {
      const { rows } = await client.query<{ "QUERY PLAN": string }>(
        `EXPLAIN (ANALYZE, COSTS OFF) ${text}`,
        values.map((value) => (value === "acme" ? "owner-7" : value)),
      );
      const numbers = rows.flatMap((row) =>
        [...row["QUERY PLAN"].matchAll(/(?:rows=|Rows Removed by [\w ]+: )([\d.]+)/g)].map(([, count]) =>
          Number(count),
        ),
      );
      return Math.max(...numbers);
    };
    expect(await mostOf(createIndexQueries(POSTGRES).count({ limit: 1 }, Infinity))).toBe(10_000);
    for (const [what, question] of Object.entries(questionsOf(POSTGRES)))
      expect([what, await mostOf(question)]).toEqual([what, expect.toSatisfy((most: number) => most <= 20)]);
  } finally {
    await client.end();
  }
});
