/** @module-tag long */
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { openDirectory } from "../../../../src/storage/sqlite/directory/open-directory.ts";
import { openHeadFile } from "../../../../src/storage/sqlite/format/head-file.ts";
import { openDatabase } from "../../../../src/storage/sqlite/format/schema.ts";
import { sqliteLog } from "../../../../src/storage/sqlite/index.ts";
import { DiskWriter } from "../../../../src/storage/sqlite/writer/disk-writer.ts";
import type { FromWriter } from "../../../../src/storage/sqlite/writer/message.ts";
import { startRun } from "../../../../src/testing/event-log/subject.ts";
import { collectGarbage } from "../../../machine/garbage.ts";
import { temporaryDirectory } from "../../directories.ts";

const MEGABYTE = 1024 * 1024;
const FULL = { type: "failed", reason: "the disk is full" };

interface Subject {
  readonly database: DatabaseSync;
  readonly writer: DiskWriter;
  /** Commits the next event of the only run as a recent one. */
  append(bytes: number): FromWriter;
}

/** The writer of a log with one run that has one event. */
async function openWriter(): Promise<Subject> {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  await startRun(log, "run", 1);
  await log.close();
  const { reader, head, unlock, file } = openDirectory(directory, { acceptLoss: false });
  expect(file).toBeGreaterThan(0);
  const database = openDatabase(join(directory, "log.db"), "relaxed");
  const headFile = openHeadFile(join(directory, "head"));
  const writer = new DiskWriter(database, headFile, head, { writeEveryHead: false });
  let id = 1;
  onTestFinished(() => {
    for (const connection of [database, headFile, reader]) connection.close();
    unlock();
  });
  return {
    database,
    writer,
    append(bytes) {
      const body = Buffer.from(`${"x".repeat(bytes - 1)}\n`);
      const reply = writer.commit(
        { parts: JSON.stringify([1, id + 1, id + 1, 0, bytes - 1]), bytes },
        [],
        body,
      );
      if (reply.type === "committed") id += 1;
      return reply;
    },
  };
}

/** Lets the database grow by no page, as on a full disk. */
function fill(database: DatabaseSync): void {
  const { page_count: pages } = database.prepare("PRAGMA page_count").get() ?? {};
  database.exec(`PRAGMA max_page_count = ${Number(pages)}`);
}

test("recent events are kept over a failed transaction", async () => {
  const { database, writer, append } = await openWriter();
  append(100);
  fill(database);
  expect(append(MEGABYTE)).toEqual(FULL);
  database.exec("PRAGMA max_page_count = 1000000");
  expect(append(100)).toMatchObject({ type: "committed" });
  expect(writer.moveRecent()).toEqual({ type: "committed", chunked: [[1, 3]] });
});

test("nothing is committed after a failed transaction whose recent events cannot be read back", async () => {
  const { database, append } = await openWriter();
  append(100);
  database.exec("UPDATE batch SET parts = NULL");
  fill(database);
  const damaged = { type: "failed", reason: "the database is damaged" };
  expect(append(MEGABYTE)).toEqual(damaged);
  database.exec("PRAGMA max_page_count = 1000000");
  // A chunk after this would have no events before it.
  expect(append(100)).toEqual(damaged);
});

test("failed transactions on a full disk keep no memory", async () => {
  const { database, append } = await openWriter();
  append(MEGABYTE);
  fill(database);
  append(MEGABYTE);
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  for (let times = 0; times < 256; times += 1) expect(append(64 * 1024)).toEqual(FULL);
  collectGarbage();
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200 * MEGABYTE);
});
