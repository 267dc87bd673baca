import { appendFileSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Cursor, EventLog } from "../../src/ports/event-log.ts";
import type { Batch } from "../../src/ports/log-batch.ts";
import { countEvents } from "../../src/protocol/events/texts.ts";
import { openHeadFile } from "../../src/storage/sqlite/format/head-file.ts";
import { postgresLog } from "../../src/storage/postgres/index.ts";
import type { PostgresLogOptions } from "../../src/storage/postgres/index.ts";
import { sqliteLog } from "../../src/storage/sqlite/index.ts";
import { openDirectory } from "../../src/storage/sqlite/directory/open-directory.ts";
import { openDatabase } from "../../src/storage/sqlite/format/schema.ts";
import { DiskWriter } from "../../src/storage/sqlite/writer/disk-writer.ts";
import { nextEvents, row, asRunId, startRun } from "../../src/testing/event-log/subject.ts";

// A separate process for tests that kill it or break its disk or its files. Each output line is JSON.

const NONE = { parts: "", bytes: 0 };

const [, , mode = "", directory = "", durability] = process.argv;

switch (mode) {
  case "append":
    await appendForever();
    break;
  case "open":
    open();
    break;
  case "fill":
    await fillTheDisk();
    break;
  case "crowd":
    crowdTheDisk();
    break;
  case "exceed":
    await appendUntilAllRefused();
    break;
  case "hold":
    await appendWhileHeld();
    break;
  case "remove":
    await removeIdle();
    break;
  default:
    throw new Error(`unknown mode ${mode}`);
}

/** Removes all idle runs of a log together: of one on SQLite, or of the one on PostgreSQL that is given as JSON. */
async function removeIdle(): Promise<void> {
  const isDatabase = directory.startsWith("{");
  const log = isDatabase
    ? await postgresLog(JSON.parse(directory) as PostgresLogOptions)
    : sqliteLog(directory);
  await log.indexed?.();
  const { runs } = await log.list({ status: "idle", limit: 200 });
  say("removing");
  say(await log.removeIdle(runs));
  await log.close();
}

/** Appends to eight runs concurrently and prints what was acknowledged. */
async function appendForever(): Promise<void> {
  const log = sqliteLog(directory, { durability: durability === "relaxed" ? "relaxed" : "full" });
  const runHost = Array.from({ length: 8 }, async (_, index) => {
    let { cursor } = await log.claim(asRunId(`run-${index}`));
    for (;;) {
      cursor = await log.append(cursor, nextEvents(cursor, 1 + (cursor.head % 5)));
      say({ run: cursor.runId, head: cursor.head });
    }
  });
  await Promise.all(runHost);
}

/** Opens the log and prints the result. */
function open(): void {
  try {
    const log = sqliteLog(directory);
    say({ opened: log.durability });
  } catch (error) {
    say({ failed: (error as Error).name, message: (error as Error).message });
  }
}

/** Appends until the disk is full, frees space, and continues when the log accepts appends again. */
async function fillTheDisk(): Promise<void> {
  const ballast = join(directory, "ballast");
  // Room for the recent events, which are moved before the log accepts appends again.
  writeFileSync(ballast, "x".repeat(2048 * 1024));
  const log = sqliteLog(join(directory, "log"));
  const start = await startRun(log, "run", 1);
  const { cursor, error } = await appendUntilRefused(log, start);
  say({
    refused: error.name,
    health: log.health(),
    again: await refusal(log, cursor),
    readable: countEvents((await log.read(asRunId("run"), { after: 0 })).events) === cursor.head,
  });

  rmSync(ballast, { force: true });
  while (!log.health().writable) await setTimeout(20);
  const stale = await refusal(log, cursor);
  const claim = await log.claim(asRunId("run"));
  const next = await log.append(claim.cursor, nextEvents(claim.cursor, 1));
  say({ stale, kept: claim.cursor.head >= cursor.head, grown: next.head - claim.cursor.head });
  await log.close();
}

/** Lets a checkpoint fail for lack of space, frees space, and commits again. */
function crowdTheDisk(): void {
  const log = join(directory, "log");
  const options = { durability: "full", acceptLoss: false } as const;
  const { reader, head, unlock } = openDirectory(log, options);
  const database = openDatabase(join(log, "log.db"), "full");
  const headFile = openHeadFile(join(log, "head"));
  const writer = new DiskWriter(database, headFile, head, { writeEveryHead: true });
  const body = Buffer.from("x".repeat(2 * 1024 * 1024));
  const first = writer.commit(NONE, [[1, 1, 1, 0, body.length, null, null]], body);
  const ballast = join(directory, "ballast");
  try {
    for (;;) appendFileSync(ballast, "x".repeat(64 * 1024));
  } catch {
    writer.checkpoint();
  }
  const crowded = writer.commit(NONE, [], body);
  rmSync(ballast);
  say([first, crowded, writer.commit(NONE, [], body)]);
  for (const open of [database, headFile, reader]) open.close();
  unlock();
}

/** Appends until the system refuses something, with concurrent appends. */
async function appendUntilAllRefused(): Promise<void> {
  const log = sqliteLog(directory);
  const others = await Promise.all([1, 2, 3].map((other) => startRun(log, `other-${other}`, 1)));
  const start = await startRun(log, "run", 1);
  const ends = await Promise.all([start, ...others].map((first) => appendUntilRefused(log, first)));
  const heads = ends.map(({ cursor }) => [cursor.runId, cursor.head]);
  const health = log.health();
  const [run] = ends;
  const page = await log.read(asRunId("run"), { after: 0 });
  const claim = await log.claim(asRunId("run"));
  say({
    refused: ends.map(({ error }) => error.name),
    health,
    heads,
    readable: countEvents(page.events) === run?.cursor.head,
    afterClaim: await refusal(log, claim.cursor),
  });
  await log.close();
}

/** Appends until a sync is blocked, then some more, and then unblocks it. */
async function appendWhileHeld(): Promise<void> {
  const held = join(directory, "held");
  const log = sqliteLog(directory);
  let cursor = await startRun(log, "run", 1);
  const append = async (): Promise<void> => {
    cursor = await log.append(cursor, largeEvent(cursor));
  };
  for (let count = 0; count < 10_000 && !existsSync(`${held}.reached`); count += 1) await append();
  const { head } = cursor;
  for (let count = 0; count < 100; count += 1) await append();
  say({ reached: existsSync(`${held}.reached`), appended: cursor.head - head, held: existsSync(held) });
  rmSync(held);
  await log.close();
  say({ closed: true });
}

async function appendUntilRefused(
  log: EventLog,
  start: Cursor,
): Promise<{ readonly cursor: Cursor; readonly error: Error }> {
  let cursor = start;
  for (;;) {
    try {
      cursor = await log.append(cursor, largeEvent(cursor));
    } catch (error) {
      return { cursor, error: error as Error };
    }
  }
}

function largeEvent(cursor: Cursor): Batch {
  const event = JSON.stringify({ id: cursor.head + 1, content: "x".repeat(20_000) });
  return { events: [event], records: [], run: row() };
}

async function refusal(log: EventLog, cursor: Cursor): Promise<string> {
  try {
    await log.append(cursor, nextEvents(cursor, 1));
    return "none";
  } catch (error) {
    return (error as Error).name;
  }
}

/** A pipe is written synchronously, so no output is lost when the process is killed. */
function say(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
