import { closeSync, openSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { AgentError } from "../../../errors.ts";
import { toChecksum, toHash } from "../format/chain.ts";
import { createDirectory, createPrivateFile, syncDirectoryNow } from "../../fs/files.ts";
import { indexWaits } from "./index-waits.ts";
import { LOST_NAMES, NAMES_AT_START } from "./lost-names.ts";
import { DamagedLog, toTrouble } from "../format/errors.ts";
import { openHeadFile, readHeadFile } from "../format/head-file.ts";
import type { Head } from "../format/head-file.ts";
import { takeLock } from "./lock.ts";
import { createReader } from "../reader/reader.ts";
import type { Reader } from "../reader/reader.ts";
import { createSchema, openDatabase, revertSchema, VERSION } from "../format/schema.ts";
import { RecentEvents } from "../writer/recent-events.ts";
import { DiskWriter } from "../writer/disk-writer.ts";
import { toPagesFile } from "../writer/page-states.ts";

/** An open and locked data directory. */
interface OpenDirectory {
  /** Uses a connection that only reads from now on. */
  readonly reader: Reader;
  readonly head: Head;
  /** The highest rid of a run. */
  readonly lastRid: number;
  /** A file descriptor of the database, for syncing it. */
  readonly file: number;
  /** Releases the lock; all connections to the database must be closed before. */
  unlock(): void;
}

/** Opens or creates a data directory, checks that nothing is missing, and increments its epoch. */
export function openDirectory(
  directory: string,
  { acceptLoss }: { readonly acceptLoss: boolean },
): OpenDirectory {
  try {
    createDirectory(directory);
    const unlock = takeLock(join(directory, "lock"));
    try {
      const opened = openLocked(directory, acceptLoss);
      const file = openSync(join(directory, "log.db"), "r+");
      return {
        ...opened,
        file,
        unlock() {
          // Closed last, because closing it drops the process's locks on the database.
          closeSync(file);
          unlock();
        },
      };
    } catch (error) {
      unlock();
      throw error;
    }
  } catch (error) {
    throw explain(error, directory);
  }
}

/** Brings the log of a directory to the current format, or back to an earlier one, while no process has it open. */
export function migrateDirectory(
  directory: string,
  to: number | undefined,
): { readonly from: number; readonly to: number } {
  const unlock = takeLock(join(directory, "lock"));
  try {
    const path = join(directory, "log.db");
    const database = openDatabase(path, "full");
    try {
      // What was saved of the pages is wrong after a change that is no commit of the log.
      rmSync(toPagesFile(path), { force: true });
      const from = to === undefined ? createSchema(database) : revertSchema(database, to);
      return { from, to: to ?? VERSION };
    } finally {
      database.close();
    }
  } catch (error) {
    throw explain(error, directory);
  } finally {
    unlock();
  }
}

/** SQLite's default page size. */
const PAGE_BYTES = 4_096;

function openLocked(directory: string, acceptLoss: boolean) {
  const path = join(directory, "log.db");
  const known = readHeadFile(join(directory, "head"));
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0 && known !== undefined && known.batch > 0 && !acceptLoss) {
    throw new DamagedLog(`the database is missing or empty; it had ${known.batch} transactions`);
  }
  createPrivateFile(path);
  // What a start commits is synced with any durability, because the head file that names it is synced too.
  const database = openDatabase(path, "full");
  try {
    createSchema(database);
    if (!acceptLoss) {
      checkHead(database, known);
      if (size % PAGE_BYTES !== 0) checkAll(database);
      checkNames(database);
    }
    const head = raiseHead(database, known, join(directory, "head"));
    // What an earlier format had in it is in chunks now.
    database.exec("DROP TABLE IF EXISTS recent");
    indexWaits(database);
    syncDirectoryNow(directory);
    database.exec("PRAGMA query_only = ON; PRAGMA cache_size = -16384");
    const lastRid = Number(database.prepare("SELECT max(rid) AS rid FROM run").get()?.["rid"] ?? 0);
    return { reader: createReader(database), head, lastRid };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Fails if the database lacks the transaction that the head file names, or if its newest one is not as committed.
 */
function checkHead(database: DatabaseSync, known: Head | undefined): void {
  const newest = findBatch(database, "SELECT * FROM batch ORDER BY n DESC LIMIT 1");
  if (newest === undefined && (known === undefined || known.batch === 0)) return;
  if (known === undefined) throw new DamagedLog("the head file is missing or damaged");
  if (newest === undefined || newest.n < known.batch) {
    const lost = known.batch - (newest?.n ?? 0);
    throw new DamagedLog(`the log has lost its newest ${lost} of ${known.batch} transactions`);
  }
  const same = findBatch(database, "SELECT * FROM batch WHERE n = ?", known.batch);
  if (same !== undefined && same.hash !== known.hash) {
    throw new DamagedLog(`transaction ${known.batch} is not the one that was committed`);
  }
  const isRecentWhole = new RecentEvents(database).load(newest.recent);
  const before = findBatch(database, "SELECT * FROM batch WHERE n = ?", newest.n - 1);
  const checksums = newest.first_chunk === null ? [] : readChecksums(database, newest.first_chunk);
  const isSame =
    (before === undefined && newest.n > 1) ||
    toHash(before?.hash ?? "", newest.n, checksums, newest.recent) === newest.hash;
  if (!isSame || !isRecentWhole) {
    throw new DamagedLog(`the newest transaction, ${newest.n}, is not as it was committed`);
  }
}

/**
 * Checks the whole database if its file ends within a page: SQLite reads the missing part as zeros, so names
 * of runs would not be found without any error.
 */
function checkAll(database: DatabaseSync): void {
  const result = database.prepare("PRAGMA integrity_check(1)").get()?.["integrity_check"];
  if (result !== "ok") throw new DamagedLog("the database has been cut short");
}

/**
 * Increments the epoch in the log and then in the head file, and moves the recent events that the process before left
 * into the chunks of their runs.
 */
function raiseHead(database: DatabaseSync, known: Head | undefined, path: string): Head {
  const headFile = openHeadFile(path);
  try {
    if (known === undefined) {
      // The head file must exist before the first transaction, or a crash between the two writes looks like a loss.
      headFile.reset({ epoch: 0, batch: 0, hash: "" });
      headFile.sync();
    }
    const newest = findBatch(database, "SELECT * FROM batch ORDER BY n DESC LIMIT 1");
    const raised = raiseEpoch(database, known, newest);
    headFile.reset(raised);
    headFile.sync();
    if (newest === undefined || newest.recent === null) return raised;
    const writer = new DiskWriter(database, headFile, raised, { writeEveryHead: true });
    const moved = writer.moveRecent(newest.recent);
    if (moved.type === "failed")
      throw new AgentError("unavailable", `the log cannot be opened: ${moved.reason}`);
    headFile.reset(writer.head);
    headFile.sync();
    return writer.head;
  } finally {
    headFile.close();
  }
}

/** Commits an empty transaction with a new epoch, which fences cursors of an earlier process. */
function raiseEpoch(database: DatabaseSync, known: Head | undefined, newest: BatchRow | undefined): Head {
  const epoch = Math.max(newest?.epoch ?? 0, known?.epoch ?? 0) + 1;
  const batch = (newest?.n ?? 0) + 1;
  const recent = newest?.recent ?? null;
  const hash = toHash(newest?.hash ?? "", batch, [], recent);
  const insert = database.prepare("INSERT INTO batch (n, epoch, hash, recent) VALUES (?, ?, ?, ?)");
  insert.run(batch, epoch, hash, recent);
  return { epoch, batch, hash };
}

interface BatchRow {
  readonly n: number;
  readonly epoch: number;
  readonly hash: string;
  readonly first_chunk: number | null;
  readonly recent: string | null;
}

function findBatch(database: DatabaseSync, sql: string, ...n: number[]): BatchRow | undefined {
  return database.prepare(sql).get(...n) as BatchRow | undefined;
}

/** The checksums of the newest chunks as the database has them now. */
function readChecksums(database: DatabaseSync, from: number): number[] {
  const chunks = database.prepare(
    `SELECT rid, first, last, records_end AS records_end, CAST(coalesce(body, '') AS BLOB) AS body,
       CAST(records AS TEXT) AS records
     FROM chunk WHERE seq >= ? ORDER BY seq`,
  );
  const checksums: number[] = [];
  for (const row of chunks.iterate(from)) {
    const chunk = row as unknown as {
      readonly rid: number;
      readonly first: number;
      readonly last: number;
      readonly records_end: number;
      readonly body: Uint8Array;
      readonly records: string | null;
    };
    checksums.push(toChecksum({ ...chunk, records: chunk.records_end }, chunk.body, chunk.records));
  }
  return checksums;
}

/** Explains why a directory cannot be opened. */
function explain(error: unknown, directory: string): unknown {
  const because = { cause: error };
  switch (toTrouble(error)) {
    case "damaged":
      return new DamagedLog("the database is damaged or was not created by troupe", because);
    case "inaccessible":
    case "full":
      return new AgentError("unavailable", `${directory} cannot be opened for writing`, because);
    case undefined: {
      const { code, syscall } = error as NodeJS.ErrnoException;
      if (syscall === undefined || code === undefined) return error;
      return new AgentError("unavailable", `${directory} cannot be opened: ${code}`, because);
    }
    case "busy":
    case "constraint":
    case "other":
    default:
      return error;
  }
}

/** Fails if something of the newest runs cannot be found by its name; the others are looked at while the log is open. */
function checkNames(database: DatabaseSync): void {
  const last = Number(database.prepare("SELECT max(rid) AS rid FROM run").get()?.["rid"] ?? 0);
  for (const [what, sql] of LOST_NAMES)
    if (database.prepare(sql).get(last - NAMES_AT_START, last) !== undefined)
      throw new DamagedLog(`${what} is not found by its name`);
  // Releases the pages that the check read into the cache.
  database.exec("PRAGMA shrink_memory");
}
