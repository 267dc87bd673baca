/** @module-tag long */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import type { Cursor, EventLog } from "../../../src/ports/event-log.ts";
import { memoryLog } from "../../../src/storage/memory/log.ts";
import { DamagedLog, sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { createRandom } from "../../../src/testing/event-log/random.ts";
import {
  events,
  nextEvents,
  record,
  row,
  asRunId,
  startRun,
} from "../../../src/testing/event-log/subject.ts";
import { startLogChild, temporaryDirectory } from "../directories.ts";
import { shortened } from "../../machine/long.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Appends one event at a time to each run, all runs at the same time. */
async function appendToAll(log: EventLog, cursors: Cursor[], times: number): Promise<Cursor[]> {
  let next = cursors;
  for (let time = 0; time < times; time += 1) {
    next = await Promise.all(next.map(async (cursor) => log.append(cursor, nextEvents(cursor, 1))));
  }
  return next;
}

function countRows(database: DatabaseSync, what: keyof typeof ROWS): number {
  return Number(database.prepare(`SELECT count(*) AS count FROM ${ROWS[what]}`).get()?.["count"]);
}

const ROWS = { chunk: "chunk", recent: "batch WHERE parts IS NOT NULL" } as const;

function openReading(directory: string): DatabaseSync {
  const database = new DatabaseSync(join(directory, "log.db"), { readOnly: true });
  onTestFinished(() => database.close());
  return database;
}

test("small appends of many runs are in the row of their commit, and later one chunk per run", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const names = Array.from({ length: 20 }, (_, index) => `run-${index}`);
  const started = await Promise.all(names.map((name) => startRun(log, name, 1)));
  const database = openReading(directory);
  const cursors = await appendToAll(log, started, 30);
  const written = countRows(database, "chunk") + countRows(database, "recent");
  await Promise.all(
    cursors.map(async (cursor) => log.append(cursor, { ...nextEvents(cursor, 1), records: [record(1, 31)] })),
  );

  // With a chunk for each append there are 620 rows, and 20 more at the end.
  expect(written).toBeLessThan(100);
  expect(countRows(database, "chunk")).toBeLessThan(100);
  for (const name of names) {
    expect(await log.read(asRunId(name), { after: 0, records: true })).toMatchObject({
      events: events(1, 32),
      records: [record(1, 31)],
    });
  }
  await log.close();
});

test("when nothing is appended for a moment, all events are in chunks and in no other row", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const cursor = await startRun(log, "run", 1);
  const removed = await startRun(log, "removed", 1);
  const [next] = await appendToAll(log, [cursor], 3);
  const [last] = await appendToAll(log, [removed], 3);
  await log.remove(last ?? removed);
  const database = openReading(directory);

  await expect.poll(() => countRows(database, "recent")).toBe(0);
  const stored = database.prepare(
    "SELECT max(last) AS last FROM chunk JOIN run USING (rid) WHERE run_id = 'run'",
  );
  expect(stored.get()?.["last"]).toBe(4);
  await log.append(next ?? cursor, nextEvents(next ?? cursor, 1));
  expect((await log.read(asRunId("run"), { after: 0 })).events).toEqual(events(1, 5));
  await log.close();
});

test("a run that is released or claimed again keeps its recent events", async () => {
  const log = sqliteLog(temporaryDirectory());
  const [cursor] = await appendToAll(log, [await startRun(log, "run", 1)], 2);
  const first = await log.claim(asRunId("run"));
  expect(first).toMatchObject({ cursor: { head: 3 }, run: { head: 3 } });
  await expect(async () => log.append(cursor ?? first.cursor, nextEvents(first.cursor, 1))).rejects.toThrow(
    "has another owner",
  );
  const next = await log.append(first.cursor, nextEvents(first.cursor, 1));
  log.release(next);
  expect(await log.run(asRunId("run"))).toMatchObject({ head: 4 });
  expect((await log.list({ limit: 1 })).runs).toMatchObject([{ head: 4 }]);
  expect(await log.size(asRunId("run"))).toBeGreaterThan(4 * 20);
  expect((await log.claim(asRunId("run"))).cursor.head).toBe(4);
  expect(await log.read(asRunId("run"), { after: 0 })).toEqual({
    events: events(1, 4),
    records: [],
    head: 4,
  });
  await log.close();
});

/** Kills a process that appends when a run has more than these events; returns what it had confirmed of each run. */
async function appendUntilKilled(directory: string, limit: number): Promise<ReadonlyMap<string, number>> {
  const child = startLogChild("append", directory);
  const heads = new Map<string, number>();
  for await (const line of child.lines) {
    const { run, head } = JSON.parse(line) as { readonly run: string; readonly head: number };
    heads.set(run, head);
    if (head > limit) child.process.kill("SIGKILL");
  }
  return heads;
}

/** Checks that a log has what was confirmed of each run, and nothing in between is missing. */
async function expectAtLeast(log: EventLog, heads: ReadonlyMap<string, number>): Promise<void> {
  for (const [run, head] of heads) {
    const page = await log.read(asRunId(run), { after: 0 });
    expect(page.head).toBeGreaterThanOrEqual(head);
    expect(page.events).toEqual(events(1, page.head));
  }
}

test("a process that is killed leaves recent events, which the next one moves into chunks", async () => {
  const directory = temporaryDirectory();
  const heads = await appendUntilKilled(directory, 100);
  const left = new DatabaseSync(join(directory, "log.db"));
  const [before, newest] = [
    countRows(left, "recent"),
    left.prepare("SELECT max(last) AS last FROM chunk").get(),
  ];
  left.close();
  expect(before).toBeGreaterThan(0);
  expect(Number(newest?.["last"])).toBeLessThan(100);

  const log = sqliteLog(directory);
  const database = openReading(directory);
  expect(countRows(database, "recent")).toBe(0);
  await expectAtLeast(log, heads);
  await log.close();
});

test.each([17, 18])(
  "recent events that a killed process of an older version has left are moved into chunks (an upgrade %i)",
  async (format) => {
    const directory = temporaryDirectory();
    const heads = await appendUntilKilled(directory, 20);
    const database = new DatabaseSync(join(directory, "log.db"));
    // Format 17 had them in a table of their own. The upgrade of its tables may have been the last thing before another kill.
    database.exec(`
      DROP TABLE audit; DROP TABLE base; DROP TABLE spent; DROP TABLE schedule; DROP TABLE statistic;
      DROP TABLE statistic_sum; DROP TABLE statistic_owner; DROP TABLE statistic_place;
      DROP TABLE run_words; DROP TABLE run_text; DROP TABLE text_place; DROP TABLE text_due;
      DROP INDEX run_failed; DROP INDEX run_failed_of;
      DROP INDEX outbox_dead; DROP INDEX wait_agent; ALTER TABLE wait DROP COLUMN agent;
      CREATE TABLE recent (seq INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, parts TEXT NOT NULL, body TEXT NOT NULL);
      INSERT INTO recent SELECT n, checksum, parts, body FROM batch WHERE parts IS NOT NULL;
      UPDATE batch SET checksum = NULL, parts = NULL, body = NULL;
      PRAGMA user_version = ${format}`);
    if (format === 17)
      for (const column of ["checksum", "parts", "body"])
        database.exec(`ALTER TABLE batch DROP COLUMN ${column}`);
    database.close();

    const log = sqliteLog(directory);
    await expectAtLeast(log, heads);
    expect(openReading(directory).prepare("SELECT 1 FROM sqlite_schema WHERE name = 'recent'").get()).toBe(
      undefined,
    );
    await log.close();
  },
);

test("rows that a killed process had no time to empty are emptied by the next one", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const { runId } = await startRun(log, "run", 1);
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  onTestFinished(() => database.close());
  database.exec(
    "UPDATE batch SET checksum = 0, parts = '[]', body = '' WHERE n > (SELECT max(n) FROM batch) - 2",
  );
  expect(countRows(database, "recent")).toBe(2);

  const again = sqliteLog(directory);
  const { cursor } = await again.claim(runId);
  await appendToAll(again, [cursor], 3);
  expect((await again.read(runId, { after: 0 })).events).toEqual(events(1, 4));
  await expect.poll(() => countRows(database, "recent")).toBe(0);
  await again.close();
});

const NEWEST = "(SELECT max(n) FROM batch WHERE parts IS NOT NULL)";

test.each([
  `checksum = NULL, parts = NULL, body = NULL WHERE n = ${NEWEST}`,
  `checksum = NULL, parts = NULL, body = NULL WHERE n = ${NEWEST} - 1`,
  "parts = '[]' WHERE parts IS NOT NULL",
  `parts = NULL WHERE n = ${NEWEST} - 1`,
])("a log whose recent events are not as they were written is refused (%s)", async (change) => {
  const directory = temporaryDirectory();
  const child = startLogChild("append", directory);
  let lines = 0;
  for await (const _ of child.lines) {
    lines += 1;
    if (lines === 100) child.process.kill("SIGKILL");
  }
  const database = new DatabaseSync(join(directory, "log.db"));
  database.exec(`UPDATE batch SET ${change}`);
  database.close();

  expect(() => sqliteLog(directory)).toThrow(DamagedLog);
  const log = sqliteLog(directory, { acceptLoss: true });
  const page = await log.read(asRunId("run-0"), { after: 0 });
  expect(page.events).toEqual(events(1, page.head));
  await log.close();
});

test.each(shortened([1, 2, 3], 1))(
  "any mix of small and other appends reads like a log in memory (seed %i)",
  async (seed) => {
    const random = createRandom(seed);
    const directory = temporaryDirectory();
    // Without a cache, so that reads use the database.
    let log = sqliteLog(directory, { cacheBytes: 0 });
    const model = memoryLog();
    const names = ["a", "b", "c"].map(asRunId);
    const cursors = new Map<string, readonly [Cursor, Cursor]>();
    const claimAll = async (): Promise<void> => {
      for (const name of names)
        cursors.set(name, [(await log.claim(name)).cursor, (await model.claim(name)).cursor]);
    };
    await claimAll();
    for (let step = 0; step < 300; step += 1) {
      const name = names[random.below(names.length)] ?? asRunId("a");
      const [own, other] = cursors.get(name) ?? [];
      if (own === undefined || other === undefined) throw new Error("not claimed");
      const batch = {
        ...nextEvents(own, random.below(20) === 0 ? 300 : 1 + random.below(3)),
        ...(random.below(8) === 0 && {
          records: [record(own.records + 1, own.head + random.below(2))],
          run: row(),
        }),
      };
      cursors.set(name, [await log.append(own, batch), await model.append(other, batch)]);
      const options = {
        after: random.below(own.head + 2),
        ...(random.below(2) === 0 && { limit: 1 + random.below(40) }),
      };
      expect(await log.read(name, options)).toEqual(await model.read(name, options));
      const limitBytes = random.below(2_000);
      const some = await log.read(name, { ...options, limitBytes });
      const all = (await model.read(name, options)).events;
      expect(some.events).toEqual(all.slice(0, Math.max(some.events.length, Math.min(all.length, 1))));
      expect(some.events.length > 1 ? toEncoded(some.events).join("").length : 0).toBeLessThanOrEqual(
        limitBytes,
      );
      const records = { after: options.after, records: true };
      expect(await log.read(name, records)).toEqual(await model.read(name, records));
      if (random.below(100) > 0) continue;
      await log.close();
      log = sqliteLog(directory, { cacheBytes: 0 });
      await claimAll();
    }
    await log.close();
  },
);
