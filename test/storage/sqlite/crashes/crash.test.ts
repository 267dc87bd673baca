/** @module-tag long */
import { readFileSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { Unavailable } from "../../../../src/ports/event-log.ts";
import type { RunId } from "../../../../src/protocol/ids.ts";
import { DamagedLog, DirectoryInUse, sqliteLog } from "../../../../src/storage/sqlite/index.ts";
import { events, nextEvents, asRunId, startRun } from "../../../../src/testing/event-log/subject.ts";
import { fillIdle, findIdle } from "../../idle-sets.ts";
import { damage, openUnlessDamaged, startLogChild, temporaryDirectory } from "../../directories.ts";
import { shortened } from "../../../machine/long.ts";

// Each of these tests starts a process several times, which is slow on a loaded machine.
vi.setConfig({ testTimeout: 60_000 });

test.each(shortened(["full", "relaxed"] as const, 1))(
  "acknowledged data survives repeated kill -9 (%s)",
  async (durability) => {
    const directory = temporaryDirectory();
    for (let cycle = 0; cycle < 5; cycle += 1) {
      const acknowledged = await appendAndKill(directory, 300 + cycle * 50, durability);
      const log = sqliteLog(directory, { durability });

      expect(acknowledged.size).toBe(8);
      for (const [run, head] of acknowledged) {
        const page = await log.read(run, { after: 0 });
        expect(page.head).toBeGreaterThanOrEqual(head);
        expect(page.events).toEqual(events(1, page.head));
      }
      await log.close();
    }
  },
);

test("a process that is killed in the middle of a set of removals leaves each run whole", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  await fillIdle(log);
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"), { timeout: 0 });
  // The removal of one of them never ends.
  database.exec(`CREATE VIEW endless AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n;
    CREATE TRIGGER trap BEFORE UPDATE OF removed ON run WHEN NEW.run_id = 'idle-25'
      BEGIN SELECT count(*) FROM endless; END`);
  const child = startLogChild("remove", directory);
  for await (const line of child.lines) {
    expect(JSON.parse(line)).toBe("removing");
    await expect.poll(() => isWriting(database)).toBe(true);
    child.process.kill("SIGKILL");
  }
  expect(await child.ended).toBe("SIGKILL");
  database.exec("DROP TRIGGER trap; DROP VIEW endless");
  database.close();

  const again = sqliteLog(directory);
  const { idle, needed } = await findIdle(again);
  // A set is several commits, of which some may have come before the kill.
  expect(idle.filter((found) => found !== "removed")).toEqual(["whole"]);
  expect(needed).toEqual(["whole"]);
  await again.removeIdle((await again.list({ status: "idle", limit: 200 })).runs);
  expect(await findIdle(again)).toEqual({ idle: ["removed"], needed: ["whole"] });
  await again.close();
});

test("a log that lost half of its commits is refused, unless the loss is accepted", async () => {
  const directory = temporaryDirectory();
  await appendAndKill(directory, 200);
  const wal = join(directory, "log.db-wal");
  truncateSync(wal, readFileSync(wal).length / 2);

  expect(() => sqliteLog(directory)).toThrow(/has lost its newest \d+ of \d+ transactions/);
  const log = sqliteLog(directory, { acceptLoss: true });
  const page = await log.read(asRunId("run-0"), { after: 0 });
  expect(page.events).toEqual(events(1, page.head));
  await log.close();
  await sqliteLog(directory).close();
});

test("a log with a changed byte in its write-ahead log is refused", async () => {
  const directory = temporaryDirectory();
  await appendAndKill(directory, 200);
  damage(join(directory, "log.db-wal"), "TextOutput", "first");

  expect(() => sqliteLog(directory)).toThrow(DamagedLog);
});

test("a log with damage at its very end is refused, or had acknowledged none of the lost data", async () => {
  for (const cut of [1, 100, 1_000, 10_000, 30_000]) {
    const directory = temporaryDirectory();
    const acknowledged = await appendAndKill(directory, 100);
    const wal = join(directory, "log.db-wal");
    truncateSync(wal, readFileSync(wal).length - cut);

    const log = openUnlessDamaged(directory);
    if (log === undefined) continue;
    for (const [run, head] of acknowledged) {
      expect((await log.read(run, { after: 0 })).head).toBeGreaterThanOrEqual(head);
    }
    await log.close();
  }
});

test("a log without its write-ahead log, its database or its head file is refused", async () => {
  for (const [file, message] of [
    ["log.db-wal", /has lost its newest \d+ of \d+ transactions/],
    ["log.db", /missing or empty/],
    ["head", /head file is missing/],
  ] as const) {
    const directory = temporaryDirectory();
    await appendAndKill(directory, 100);
    rmSync(join(directory, file));

    expect(() => sqliteLog(directory)).toThrow(DamagedLog);
    expect(() => sqliteLog(directory)).toThrow(message);
  }
});

test("an empty or overwritten database is refused", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  await startRun(log, "run", 3);
  await log.close();
  const path = join(directory, "log.db");

  damage(path, "SQLite format 3", "first");
  expect(() => sqliteLog(directory)).toThrow(/damaged or was not created by troupe/);
  truncateSync(path, 0);
  expect(() => sqliteLog(directory)).toThrow(/missing or empty/);
});

test("a newest transaction that differs from the committed one is refused", async () => {
  const directory = temporaryDirectory();
  await appendAndKill(directory, 50);
  const database = new DatabaseSync(join(directory, "log.db"));
  database.exec("UPDATE chunk SET body = replace(body, 'Text', 'Tixt')");
  database.exec("UPDATE batch SET body = replace(body, 'Text', 'Tixt')");
  database.close();

  expect(() => sqliteLog(directory)).toThrow(/newest transaction, \d+, is not as it was committed/);
});

test("a changed byte in a run is an error of that run only", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const { cursor } = await log.claim(asRunId("hurt"));
  await log.append(cursor, {
    ...nextEvents(cursor, 2),
    events: ['{"id":1}', '{"id":2,"content":"the one that is changed"}'],
  });
  const sound = await startRun(log, "sound", 3);
  await log.append(sound, nextEvents(sound, 2));
  await log.close();
  damage(join(directory, "log.db"), "the one that", "first");
  const again = sqliteLog(directory);

  await expect(again.read(asRunId("hurt"), { after: 0 })).rejects.toBeInstanceOf(Unavailable);
  await expect(again.read(asRunId("hurt"), { after: 1 })).rejects.toThrow(/damaged/);
  expect((await again.read(asRunId("sound"), { after: 0 })).events).toEqual(events(1, 5));
  const claim = await again.claim(asRunId("sound"));
  await again.append(claim.cursor, nextEvents(claim.cursor, 1));
  expect(again.health()).toEqual({ writable: true });
  await again.close();
});

test("a run whose events are not found is damaged, not empty", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  await startRun(log, "hurt", 3);
  await startRun(log, "sound", 3);
  await log.close();
  const database = new DatabaseSync(join(directory, "log.db"));
  database.exec("DELETE FROM chunk WHERE rid = (SELECT rid FROM run WHERE run_id = 'hurt')");
  database.close();
  const again = sqliteLog(directory);

  await expect(again.read(asRunId("hurt"), { after: 0 })).rejects.toThrow(/damaged/);
  await expect(again.claim(asRunId("hurt"))).rejects.toBeInstanceOf(Unavailable);
  expect((await again.read(asRunId("sound"), { after: 0 })).events).toEqual(events(1, 3));
  await again.close();
});

test("a second opener is refused at once, in another process and in the same one", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const cursor = await startRun(log, "run", 1);

  for (let attempt = 0; attempt < 5; attempt += 1) {
    const child = startLogChild("open", directory);
    for await (const line of child.lines) {
      expect(JSON.parse(line)).toMatchObject({
        failed: "DirectoryInUse",
        message: "the data directory is in use by another process",
      });
    }
    expect(await child.ended).toBe(0);
    expect(() => sqliteLog(directory)).toThrow(DirectoryInUse);
  }
  expect(await log.append(cursor, nextEvents(cursor, 1))).toMatchObject({ head: 2 });
  await log.close();
  await sqliteLog(directory).close();
});

/**
 * Lets a process append until it has acknowledged a number of appends, kills it, and returns the heads that
 * it printed.
 */
async function appendAndKill(
  directory: string,
  count: number,
  durability: "full" | "relaxed" = "full",
): Promise<Map<RunId, number>> {
  const child = startLogChild("append", directory, { durability });
  const acknowledged = new Map<RunId, number>();
  let lines = 0;
  for await (const line of child.lines) {
    const { run, head } = JSON.parse(line) as { readonly run: RunId; readonly head: number };
    acknowledged.set(run, head);
    lines += 1;
    if (lines === count) child.process.kill("SIGKILL");
  }
  expect(await child.ended).toBe("SIGKILL");
  return acknowledged;
}

/** Whether another process has begun to write to a database. */
function isWriting(database: DatabaseSync): boolean {
  try {
    database.exec("BEGIN IMMEDIATE; ROLLBACK");
    return false;
  } catch {
    return true;
  }
}
