import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createIndexQueries } from "../../../src/storage/sql/queries.ts";
import { createSchema } from "../../../src/storage/sqlite/format/schema.ts";
import { SQLITE } from "../../../src/storage/sqlite/reader/dialect.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { accepted, asRequestId, asRunId, row } from "../../../src/testing/event-log/subject.ts";

test("an output is found whose words were due before its commit was acknowledged", async () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-search-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const log = sqliteLog(directory);
  onTestFinished(() => log.close());
  const { cursor } = await log.claim(asRunId("run-a"));
  const requestId = asRequestId("request-a");
  const appended = log.append(cursor, {
    events: [
      JSON.stringify({ id: 1, type: "RequestStarted" }),
      JSON.stringify({ id: 2, type: "RequestCompleted", output: "157 metres" }),
    ],
    records: [],
    run: row({ turns: 1 }),
    requests: [
      accepted(requestId, { phase: "completed", accepted: { n: 1, after: 0 }, started: 1, completed: 2 }),
    ],
  });
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  // The thread of the log commits, and this one hears of it only when it has looked for what is due.
  const database = new DatabaseSync(join(directory, "log.db"), { readOnly: true });
  const isStored = database.prepare("SELECT 1 FROM request WHERE completed = 2");
  while (isStored.get() === undefined);
  database.close();
  const indexed = log.indexed?.();
  await Promise.all([appended, indexed]);
  const { runs } = await log.list({ limit: 3, text: "157 metres" });
  expect(runs.map(({ runId }) => runId)).toEqual(["run-a"]);
});

test("a search looks only at the chunks whose words are not written yet", () => {
  using database = new DatabaseSync(":memory:");
  createSchema(database);
  const { text, values } = createIndexQueries(SQLITE).dueTexts({ limit: 50 }, 501);
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values.map(String));
  const steps = plan.map(({ detail }) => String(detail)).filter((detail) => detail.includes(" chunk"));
  expect(steps).toEqual(["SEARCH chunk USING INTEGER PRIMARY KEY (rowid>?)"]);
});
