/** @module-tag long */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDirectory } from "../../../src/storage/sqlite/directory/open-directory.ts";
import { openHeadFile } from "../../../src/storage/sqlite/format/head-file.ts";
import type { HeadFile } from "../../../src/storage/sqlite/format/head-file.ts";
import { openDatabase } from "../../../src/storage/sqlite/format/schema.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { DiskWriter } from "../../../src/storage/sqlite/writer/disk-writer.ts";
import { events, startRun } from "../../../src/testing/event-log/subject.ts";
import { temporaryDirectory } from "../../storage/directories.ts";
import { compareLog } from "./compare-log.ts";
import { copyLog, readHistory } from "./read-history.ts";
import type { History } from "./read-history.ts";

const strict = { acceptLoss: false };

/** Copies of a log with two runs of one event, before and after transactions that add an event to each. */
interface Copies {
  /** After a transaction that the head file names. */
  readonly named: string;
  /** After one more transaction, which it does not name: the process died before. */
  readonly unnamed: string;
  /** The same, with the head file that names it. */
  readonly answered: string;
}

/**
 * Makes the copies. The named transaction is a row of recent events; the one after it is another such row, or `chunks`,
 * which take the recent events along.
 */
async function makeCopies(newest: "recent" | "chunks"): Promise<Copies> {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  for (const name of ["a", "b"]) await startRun(log, name, 1);
  await log.close();
  const { reader, head, unlock } = openDirectory(directory, strict);
  const database = openDatabase(join(directory, "log.db"), "full");
  const headFile = openHeadFile(join(directory, "head"));
  onTestFinished(() => {
    for (const connection of [database, headFile, reader]) connection.close();
    unlock();
  });
  let names = true;
  const failing: HeadFile = { ...headFile, write: (next) => names && headFile.write(next) };
  const writer = new DiskWriter(database, failing, head, { writeEveryHead: true });
  appendToBoth(writer, 2, "recent");
  const named = copy(directory);
  names = false;
  appendToBoth(writer, 3, newest);
  const unnamed = copy(directory);
  headFile.write(writer.head);
  return { named, unnamed, answered: copy(directory) };
}

function appendToBoth(writer: DiskWriter, id: number, form: "recent" | "chunks"): void {
  const [event = ""] = events(id, id);
  const bytes = event.length;
  const reply =
    form === "recent"
      ? writer.commit(
          { parts: JSON.stringify([1, 2].flatMap((rid) => [rid, id, id, 0, bytes])), bytes: 2 * (bytes + 1) },
          [],
          Buffer.from(`${event}\n${event}\n`),
        )
      : writer.commit(
          { parts: "", bytes: 0 },
          [1, 2].map((rid) => [rid, id, id, 0, bytes, null, null] as const),
          Buffer.from(event + event),
        );
  expect(reply).toEqual({ type: "committed" });
}

function copy(directory: string): string {
  const { copy: copied, remove } = copyLog(directory);
  onTestFinished(remove);
  return copied;
}

/** What the check says of a log that should have a history and has the events of another directory. */
async function compare(history: History, directory: string): Promise<readonly string[]> {
  return (await compareLog(copy(directory), history, strict)).violations;
}

test.each(["recent", "chunks"] as const)(
  "a log may lose the transaction that its head file did not name, and no event before it (%s)",
  async (newest) => {
    const { named, unnamed, answered } = await makeCopies(newest);
    const history = await readHistory(unnamed);
    expect(history.runs.get("a")?.events).toHaveLength(3);
    expect(await compare(history, named)).toEqual([]);

    const started = temporaryDirectory();
    const log = sqliteLog(started);
    for (const name of ["a", "b"]) await startRun(log, name, 1);
    await log.close();
    expect(await compare(history, started)).toEqual([
      "run a has 1 of 2 events without an error",
      "run b has 1 of 2 events without an error",
    ]);
    expect(await compare(await readHistory(answered), named)).toEqual([
      "run a has 2 of 3 events without an error",
      "run b has 2 of 3 events without an error",
    ]);
  },
);

test.each([
  { newest: "recent", copied: "unnamed", canLose: true },
  { newest: "recent", copied: "answered", canLose: false },
  { newest: "chunks", copied: "unnamed", canLose: true },
  { newest: "chunks", copied: "answered", canLose: false },
] as const)(
  "a flipped bit anywhere in the write-ahead log hides no answered event ($newest, $copied)",
  async ({ newest, copied, canLose }) => {
    const { [copied]: directory } = await makeCopies(newest);
    const history = await readHistory(directory);
    const wal = readFileSync(join(directory, "log.db-wal"));
    const noticed = new Set<boolean>();
    for (let at = 0; at < wal.length; at += FLIP_EVERY) {
      const damaged = copy(directory);
      const flipped = Buffer.from(wal);
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      writeFileSync(join(damaged, "log.db-wal"), flipped);
      const comparison = await compareLog(damaged, history, strict);
      expect(comparison.violations, `byte ${at} of ${wal.length}`).toEqual([]);
      noticed.add(comparison.noticed);
    }
    // Only the transaction that the head file does not name can be lost without a report.
    expect(noticed).toEqual(new Set(canLose ? [true, false] : [true]));
  },
);

/** A prime number of bytes, so that the flips are at different places in the pages. */
const FLIP_EVERY = 2_003;
