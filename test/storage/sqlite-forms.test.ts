import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import type { RequestMark } from "../../src/ports/event-log.ts";
import { sqliteLog } from "../../src/storage/sqlite/index.ts";
import { requestId, startRun } from "../../src/testing/event-log/subject.ts";
import { temporaryDirectory } from "./directories.ts";

test("a log of the first form is opened, and its requests can sleep", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const cursor = await startRun(log, "run", 1);
  const mark: RequestMark = { requestId: requestId("first"), phase: "running", createdAt: 1, started: 1 };
  await log.append(cursor, { events: [], records: [], requests: [mark] });
  await log.close();
  toFirstForm(join(directory, "log.db"));

  const again = sqliteLog(directory);
  onTestFinished(() => again.close());
  expect(await again.open()).toMatchObject([{ requestId: "first", phase: "running" }]);
  const { cursor: next } = await again.claim(cursor.runId);
  const requests = [{ requestId: mark.requestId, phase: "running", wakeAt: 9 } as const];
  await again.append(next, { events: [], records: [], requests });
  expect(await again.asleep({})).toMatchObject([{ requestId: "first", wakeAt: 9 }]);
});

test("a log of the second form is opened, and its runs keep their events", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const { runId } = await startRun(log, "run", 3);
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  toSecondForm(database);
  database.close();

  const again = sqliteLog(directory);
  onTestFinished(() => again.close());
  const { events } = await again.read(runId, { after: 0 });
  expect(events).toHaveLength(3);
});

test("a log of a form that this program does not know is refused", async () => {
  const directory = temporaryDirectory();
  await sqliteLog(directory).close();
  const database = new DatabaseSync(join(directory, "log.db"));
  database.exec("PRAGMA user_version = 99");
  database.close();

  expect(() => sqliteLog(directory)).toThrow("the log has form 99");
});

/** Makes of a database what the second version would have written. */
function toSecondForm(database: DatabaseSync): void {
  database.exec("ALTER TABLE run DROP COLUMN head; PRAGMA user_version = 2");
}

/** Makes of a database what the first version would have written. */
function toFirstForm(path: string): void {
  const database = new DatabaseSync(path);
  toSecondForm(database);
  database.exec(`
    DROP INDEX request_asleep;
    DROP INDEX request_open;
    ALTER TABLE request DROP COLUMN wake;
    CREATE INDEX request_open ON request (created) WHERE phase < 3;
    PRAGMA user_version = 1;
  `);
  database.close();
}
