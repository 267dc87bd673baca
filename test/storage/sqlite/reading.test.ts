import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { events, nextEvents, row, asRunId, startRun } from "../../../src/testing/event-log/subject.ts";
import { temporaryDirectory } from "../directories.ts";

test("a commit cannot be read before its append is acknowledged", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const cursor = await startRun(log, "run", 2);
  const database = new DatabaseSync(join(directory, "log.db"), { readOnly: true });
  const newest = database.prepare("SELECT max(n) AS n FROM batch");
  const before = newest.get()?.["n"];
  const appended = log.append(cursor, { ...nextEvents(cursor, 3), run: row({ turns: 2 }) });
  // One turn of the event loop to send the commit; the acknowledgement cannot arrive while this loop runs.
  await setImmediate();
  while (newest.get()?.["n"] === before);
  database.close();

  const [live, page, list] = [
    log.read(asRunId("run"), { after: 0 }),
    log.read(asRunId("run"), { after: 0, records: true }),
    log.list({ limit: 1 }),
  ];
  expect(await live).toEqual({ events: events(1, 2), records: [], head: 2 });
  expect(await page).toEqual({ events: events(1, 2), records: [], head: 2 });
  expect((await list).runs).toMatchObject([{ head: 2 }]);
  // A row is consistent with the readable events: it waits for the acknowledgement.
  expect(await log.run(asRunId("run"))).toMatchObject({ head: 5, turns: 2 });
  await appended;
  expect((await log.read(asRunId("run"), { after: 0 })).events).toEqual(events(1, 5));
  await log.close();
});
