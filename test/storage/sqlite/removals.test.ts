import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { nextEvents, startRun } from "../../../src/testing/event-log/subject.ts";
import { temporaryDirectory } from "../directories.ts";
import { fillIdle, findIdle } from "../idle-sets.ts";

test("a commit removes as many runs of a set as there is time for, and appends come between", async () => {
  const directory = temporaryDirectory();
  const filled = sqliteLog(directory);
  await fillIdle(filled);
  await filled.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  // Each removal takes so long, on a fast machine too, that a commit has no time for more than the least.
  database.exec(`CREATE VIEW long AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT i FROM n;
    CREATE TRIGGER slow BEFORE UPDATE OF removed ON run WHEN NEW.removed = 1 BEGIN SELECT count(*) FROM long; END`);
  database.close();

  const log = sqliteLog(directory);
  let cursor = await startRun(log, "other", 1);
  const { runs } = await log.list({ status: "idle", limit: 200 });
  let isOver = false;
  const removed = log.removeIdle(runs).finally(() => {
    isOver = true;
  });
  let appends = 0;
  for (; !isOver; appends += 1) cursor = await log.append(cursor, nextEvents(cursor, 1));
  expect(await removed).toHaveLength(40);
  expect(appends).toBeGreaterThan(3);
  expect(await findIdle(log)).toEqual({ idle: ["removed"], needed: ["whole"] });
  await log.close();
});
