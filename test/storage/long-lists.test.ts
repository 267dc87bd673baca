/** @module-tag long */
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { createRuntime, defineAgent } from "troupe";
import type { EventLog } from "troupe";
import { describe, expect, onTestFinished, test } from "vitest";
import { postgresLog } from "../../src/storage/postgres/index.ts";
import { sqliteLog } from "../../src/storage/sqlite/index.ts";
import { needsPostgres } from "../machine/postgres.ts";
import { temporaryDirectory } from "./directories.ts";
import { ask, newDatabase } from "./postgres/databases.ts";

/** More than a page looks at. Run n was created and changed at the time n, and has a request from then. */
const RUNS = 10_040;

/** The newest run and one of the oldest have the lot "7", all others have "8". */
function runsIn(series: string): string {
  return `SELECT n, CASE WHEN n IN (30, ${RUNS}) THEN '{"lot":"7"}' ELSE '{"lot":"8"}' END AS metadata FROM ${series}`;
}

const clerk = defineAgent({ name: "clerk", purpose: "Answers.", chat: (input) => input });

/** The pages of some lists. */
async function listsOf(log: EventLog): Promise<Readonly<Record<string, readonly (readonly string[])[]>>> {
  const runtime = createRuntime({ agents: [clerk], log });
  onTestFinished(() => log.close());
  onTestFinished(() => runtime.close());
  await runtime.ready();
  const runs = (order: "updated" | "oldest"): Promise<readonly (readonly string[])[]> =>
    pagesOf(async (cursor) => {
      const page = await runtime.runs({ limit: 5, order, metadata: { lot: "7" }, ...cursor });
      return { ids: page.runs.map(({ run_id: id }) => id), next: page.next };
    });
  const requests = (createdBefore: number): Promise<readonly (readonly string[])[]> =>
    pagesOf(async (cursor) => {
      const page = await log.listRequests({ limit: 5, createdBefore, ...cursor });
      return { ids: page.requests.map(({ requestId }) => requestId), next: page.next };
    });
  const ended = await pagesOf(async (cursor) => {
    const page = await runtime.listRequests({ limit: 5, until: 4 - 3_600_000, ...cursor });
    return { ids: page.requests.map(({ request_id: id }) => id), next: page.next };
  });
  return {
    "runs with a lot": await runs("updated"),
    "the oldest first": await runs("oldest"),
    "requests of the first runs": await requests(8),
    "requests before an hour that ends with the first runs": ended,
  };
}

const LISTS = {
  "runs with a lot": [[`run_${RUNS}`], ["run_30"]],
  "the oldest first": [["run_30"], [`run_${RUNS}`]],
  "requests of the first runs": [[], [7, 6, 5, 4, 3].map((n) => `req_${n}`), ["req_2", "req_1"]],
  "requests before an hour that ends with the first runs": [[], []],
};

async function pagesOf(
  read: (cursor: {
    readonly cursor?: string;
  }) => Promise<{ ids: readonly string[]; next: string | undefined }>,
): Promise<readonly (readonly string[])[]> {
  const pages: (readonly string[])[] = [];
  for (let cursor: string | undefined; ;) {
    const { ids, next } = await read(cursor === undefined ? {} : { cursor });
    pages.push(ids);
    if (next === undefined) return pages;
    cursor = next;
  }
}

test("SQLite ends a page at the ten thousandth run that it has looked at, and the next one goes on there", async () => {
  const directory = temporaryDirectory();
  await sqliteLog(directory).close();
  const database = new DatabaseSync(join(directory, "log.db"));
  database.exec(`
    INSERT INTO run (rid, run_id, agent, status, head, created, updated, turns, metadata, initial_input)
      SELECT n, 'run_' || n, 'clerk', 0, 0, n, n, 1, metadata, 'null' FROM (${runsIn(
        `(WITH RECURSIVE every (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM every WHERE n < ${RUNS}) SELECT n FROM every)`,
      )});
    INSERT INTO request (request_id, rid, phase, created, accepted_n, accepted_after)
      SELECT 'req_' || rid, rid, 3, created, 1, 0 FROM run`);
  database.close();
  expect(await listsOf(sqliteLog(directory))).toEqual(LISTS);
});

describe("with PostgreSQL", () => {
  needsPostgres();

  test("a page ends at the ten thousandth run that it has looked at, and the next one goes on there", async () => {
    const url = await newDatabase();
    await (await postgresLog({ url })).close();
    await ask(
      url,
      `INSERT INTO troupe.run (id, epoch, stored, agent, created_at, updated_at, turns, metadata, initial_input)
        SELECT 'run_' || n, 1, true, 'clerk', n, n, 1, metadata, 'null' FROM (${runsIn(`generate_series(1, ${RUNS}) AS n`)}) AS made`,
    );
    await ask(
      url,
      `INSERT INTO troupe.request (id, run, phase, created_at, accepted_n, accepted_after)
        SELECT 'req_' || created_at, id, 3, created_at, 1, 0 FROM troupe.run`,
    );
    expect(await listsOf(await postgresLog({ url }))).toEqual(LISTS);
  });
});
