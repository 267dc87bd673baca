import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { asRunId, row, startRun } from "../../../src/testing/event-log/subject.ts";
import { temporaryDirectory } from "../directories.ts";

/** More than are looked at before a log opens. */
const RUNS = 100_050;
const OLD = "run_oldest_of_all";
const NEW = "run_newest_of_all";

/** The directory of a log with many runs. */
async function manyRuns(): Promise<string> {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  log.release(await startRun(log, OLD, 1));
  await log.close();
  using database = new DatabaseSync(join(directory, "log.db"));
  database.exec(`WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${RUNS})
    INSERT INTO run (rid, run_id, agent, status, head, created, updated, turns, metadata, initial_input)
      SELECT i, 'run_' || i, 'clerk', 0, 0, i, i, 1, '{}', 'null' FROM n`);
  const again = sqliteLog(directory);
  again.release(await startRun(again, NEW, 1));
  await again.close();
  return directory;
}

/** Changes a letter of a name in the row of its run, not in the index. */
function misspell(directory: string, name: string): void {
  const path = join(directory, "log.db");
  const file = readFileSync(path);
  // The row has the id before the agent.
  const place = file.indexOf(`${name}echo`);
  expect(place).toBeGreaterThan(0);
  file[place + 6] = (file[place + 6] ?? 0) ^ 4;
  writeFileSync(path, file);
}

test("a log with many runs opens with all of them, and writes", { tags: "long" }, async () => {
  const log = sqliteLog(await manyRuns());
  onTestFinished(() => log.close());
  const { cursor } = await log.claim(asRunId(OLD));
  expect((await log.append(cursor, { events: ['{"id":2}'], records: [], run: row() })).head).toBe(2);
  expect(log.health().writable).toBe(true);
});

test("a new run that is not found by its name keeps a log from opening", { tags: "long" }, async () => {
  const directory = await manyRuns();
  misspell(directory, NEW);
  expect(() => sqliteLog(directory)).toThrow("a run is not found by its name");
});

test(
  "one behind many others stops a log from writing soon after it has opened",
  { tags: "long" },
  async () => {
    const directory = await manyRuns();
    misspell(directory, OLD);
    const log = sqliteLog(directory);
    onTestFinished(() => log.close());
    await expect
      .poll(() => log.health())
      .toEqual({
        writable: false,
        reason: "the database is damaged: a run is not found by its name",
      });
    await expect(
      log
        .claim("run_other")
        .then(({ cursor }) => log.append(cursor, { events: [], records: [], run: row() })),
    ).rejects.toThrow("the database is damaged");
  },
);
