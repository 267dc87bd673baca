/** @module-tag long */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, copyFileSync, existsSync, openSync, readSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { AT, STATE } from "../../../src/storage/sqlite/writer/checkpoints.ts";
import { openHeadFile, readHeadFile } from "../../../src/storage/sqlite/format/head-file.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { openDirectory } from "../../../src/storage/sqlite/directory/open-directory.ts";
import { openDatabase } from "../../../src/storage/sqlite/format/schema.ts";
import { DiskWriter } from "../../../src/storage/sqlite/writer/disk-writer.ts";
import { createPageMemory } from "../../../src/storage/sqlite/writer/page-states.ts";
import { nextEvents, row, asRunId, startRun } from "../../../src/testing/event-log/subject.ts";
import { skipWithoutCompiler } from "../../machine/skip-without.ts";
import { startLogChild, temporaryDirectory } from "../directories.ts";

const MEGABYTE = 1024 * 1024;

test("the write-ahead log stays bounded under continuous writes", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  let cursor = await startRun(log, "run", 1);
  const content = "x".repeat(MEGABYTE);
  for (let count = 0; count < 250; count += 1) {
    const event = JSON.stringify({ id: cursor.head + 1, content });
    cursor = await log.append(cursor, { events: [event], records: [], run: row() });
  }

  expect(statSync(join(directory, "log.db-wal")).size).toBeLessThan(160 * MEGABYTE);
  await log.close();
});

test("the write-ahead log is begun anew also while there is always a reader that began before the newest commit", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  let cursor = await startRun(log, "run", 1);
  // A transaction takes longer than several commits, and those of the two overlap.
  const read = `const database = new (require("node:sqlite").DatabaseSync)(${JSON.stringify(join(directory, "log.db"))}, { readOnly: true });
    const sleep = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 8);
    const port = require("node:worker_threads").parentPort;
    const next = () => { database.exec("BEGIN; SELECT 1 FROM run"); sleep(); database.exec("COMMIT"); setImmediate(next); };
    port.postMessage("begun"); next();`;
  const readers = [new Worker(read, { eval: true }), new Worker(read, { eval: true })];
  await Promise.all(readers.map((reader) => once(reader, "message")));
  const content = "x".repeat(MEGABYTE / 16);
  const first = beginningOf(directory);
  // A dozen checkpoints: on a machine with other work a reader may take longer than one of them waits.
  for (let left = 400 * 16; left > 0 && beginningOf(directory) === first; left -= 1) {
    const event = JSON.stringify({ id: cursor.head + 1, content });
    cursor = await log.append(cursor, { events: [event], records: [], run: row() });
  }

  expect(beginningOf(directory)).not.toBe(first);
  for (const reader of readers) await reader.terminate();
  await log.close();
});

test("pages that a crash left in the write-ahead log are moved into the database by the next process", async () => {
  const [crashed, next] = [temporaryDirectory(), temporaryDirectory()];
  const first = sqliteLog(crashed);
  const start = await startRun(first, "run", 1);
  const event = JSON.stringify({ id: 2, content: "x".repeat(10 * MEGABYTE) });
  await first.append(start, { events: [event], records: [] });
  for (const name of ["log.db", "log.db-wal", "head"]) copyFileSync(join(crashed, name), join(next, name));
  await first.close();

  const log = sqliteLog(next);
  await expect.poll(() => statSync(join(next, "log.db")).size).toBeGreaterThan(10 * MEGABYTE);
  await log.close();
});

test("while another connection moves pages, the head file names nothing that may be unsynced", async () => {
  const directory = temporaryDirectory();
  const path = join(directory, "log.db");
  const { reader, head, unlock } = openDirectory(directory, { acceptLoss: false });
  const database = openDatabase(path, "relaxed");
  const headFile = openHeadFile(join(directory, "head"));
  const writer = new DiskWriter(database, headFile, head, { writeEveryHead: false });
  const holder = new DatabaseSync(path);
  holder.exec("BEGIN; SELECT * FROM batch");
  writer.commit({ parts: "", bytes: 0 }, [], new Uint8Array());
  // It waits for the earlier reader, and keeps others from moving pages.
  const restart = `new (require("node:sqlite").DatabaseSync)(${JSON.stringify(path)}, { timeout: 60_000 })
    .exec("PRAGMA wal_checkpoint(RESTART)")`;
  const ended = once(new Worker(restart, { eval: true }), "exit");
  const other = new DatabaseSync(path);
  const busy = other.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  await expect.poll(() => busy.get()?.["busy"]).toBe(1);

  writer.checkpoint();
  expect(readHeadFile(join(directory, "head"))?.batch).toBe(head.batch);
  holder.exec("COMMIT");
  await ended;
  writer.checkpoint();
  expect(readHeadFile(join(directory, "head"))?.batch).toBe(head.batch + 1);
  for (const connection of [holder, other, database, headFile, reader]) connection.close();
  unlock();
});

test("a mover that is woken without work waits again", async () => {
  const directory = temporaryDirectory();
  const { reader, file, unlock } = openDirectory(directory, { acceptLoss: false });
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const thread = new URL("../../../src/storage/sqlite/writer/mover-thread.ts", import.meta.url);
  const workerData = { path: join(directory, "log.db"), file, pages: createPageMemory(), shared };
  const ended = once(new Worker(thread, { workerData }), "exit");
  await expect.poll(() => Atomics.notify(shared, AT.state)).toBe(1);

  Atomics.store(shared, AT.state, STATE.asked);
  Atomics.notify(shared, AT.state);
  await expect.poll(() => Atomics.load(shared, AT.state)).toBe(STATE.free);
  expect(Atomics.load(shared, AT.pages)).toBeGreaterThan(0);
  Atomics.store(shared, AT.state, STATE.ended);
  Atomics.notify(shared, AT.state);
  await ended;
  reader.close();
  unlock();
});

// A library that is loaded into a process between it and the disk, if there is a C compiler.
const source = fileURLToPath(new URL("sync-of-file.c", import.meta.url));
const compile = ["-shared", "-fPIC", "-O1", source, "-ldl", "-o"];
const canCompile = process.platform === "linux" && spawnSync("cc", [...compile, "/dev/null"]).status === 0;

test("appends continue while their pages are moved into the database", async ({ skip }) => {
  if (!canCompile) skipWithoutCompiler(skip);
  const { directory, command } = await logWithSlowDisk();
  const held = join(directory, "held");
  writeFileSync(held, "");
  const child = startLogChild("hold", directory, { command: [...command, `SYNC_HELD=${held}`] });
  const said: unknown[] = [];
  for await (const line of child.lines) said.push(JSON.parse(line));

  expect(await child.ended).toBe(0);
  expect(said).toEqual([{ reached: true, appended: 100, held: true }, { closed: true }]);
});

test("pages that cannot be moved into the database are not lost, and stop appends", async ({ skip }) => {
  if (!canCompile) skipWithoutCompiler(skip);
  const { directory, command } = await logWithSlowDisk();
  const child = startLogChild("exceed", directory, { command });
  const said: { readonly heads: readonly (readonly [string, number])[] }[] = [];
  for await (const line of child.lines) said.push(JSON.parse(line) as (typeof said)[number]);

  expect(await child.ended).toBe(0);
  expect(said).toMatchObject([
    {
      refused: ["Unavailable", "Unavailable", "Unavailable", "Unavailable"],
      health: { writable: false, reason: "a checkpoint failed: disk I/O error" },
      readable: true,
      afterClaim: "Unavailable",
    },
  ]);
  const log = sqliteLog(directory);
  for (const [run, head] of said[0]?.heads ?? []) {
    const page = await log.read(asRunId(run), { after: 0 });
    expect(page.events).toHaveLength(page.head);
    expect(page.head).toBeGreaterThanOrEqual(head);
  }
  const { cursor } = await log.claim(asRunId("run"));
  await log.append(cursor, nextEvents(cursor, 1));
  await log.close();
});

test("the transactions that a start names in the head file are synced, also if commits are not", async ({
  skip,
}) => {
  if (!canCompile) skipWithoutCompiler(skip);
  const { directory, command } = await logWithSlowDisk("log.db-wal");
  const killed = startLogChild("append", directory);
  for await (const _ of killed.lines) killed.process.kill("SIGKILL");
  const held = join(directory, "held");
  const options = { command: [...command, `SYNC_HELD=${held}`], durability: "relaxed" } as const;
  const next = startLogChild("append", directory, options);
  for await (const _ of next.lines) next.process.kill("SIGKILL");

  // The sync of the write-ahead log leaves this file. Without it, a power failure looks like damage.
  expect(existsSync(`${held}.reached`)).toBe(true);
});

/** Which beginning of the write-ahead log this is: the number of its header, which SQLite raises each time. */
function beginningOf(directory: string): number {
  const file = openSync(join(directory, "log.db-wal"), "r");
  const header = Buffer.alloc(16);
  readSync(file, header, 0, 16, 0);
  closeSync(file);
  return header.readUInt32BE(12);
}

/** A log, and a command that changes how its process syncs a file of it. */
async function logWithSlowDisk(
  file = "log.db",
): Promise<{ readonly directory: string; readonly command: string[] }> {
  const directory = temporaryDirectory();
  const library = join(temporaryDirectory(), "sync-of-file.so");
  spawnSync("cc", [...compile, library]);
  await sqliteLog(directory).close();
  const command = ["env", `LD_PRELOAD=${library}`, `SYNC_OF=${join(directory, file)}`];
  return { directory, command };
}
