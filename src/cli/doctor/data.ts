import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { takeLock } from "../../storage/sqlite/directory/lock.ts";
import { DirectoryInUse } from "../../storage/sqlite/format/errors.ts";
import { readHeadFile } from "../../storage/sqlite/format/head-file.ts";
import { NEWER_HINT, VERSION } from "../../storage/sqlite/format/schema.ts";
import { PID_NOTE, readNote } from "../serve/write-note.ts";
import type { Finding } from "./finding.ts";

/** Looks at a data directory without changing it: its format, its newest commit, and which process has it open. */
export function checkData(directory: string): Finding[] {
  const finding = { subject: "data", ok: true } as const;
  const database = join(directory, "log.db");
  try {
    if (!isThere(directory, database)) {
      return [{ ...finding, message: `${directory} has no log yet; the first start creates it` }];
    }
    // Read before the log, which is never older than it.
    const head = readHeadFile(join(directory, "head"));
    const { format, newest } = readNewest(database);
    if (format > VERSION) {
      const message = `${directory} has format ${format}; this troupe reads ${VERSION} and older`;
      return [{ ...finding, ok: false, message, fix: NEWER_HINT }];
    }
    if (head !== undefined && newest < head.batch) {
      const message = `${directory} has lost its newest ${head.batch - newest} of ${head.batch} commits`;
      return [{ ...finding, ok: false, message, fix: "restore it from a backup" }];
    }
    const holder = isHeld(directory)
      ? `process ${readNote(join(directory, PID_NOTE)) ?? "unknown"}`
      : "no process";
    const size = head === undefined ? "no head file" : `${head.batch} commits`;
    return [{ ...finding, message: `${directory}: format ${format}, ${size}, held by ${holder}` }];
  } catch (thrown) {
    return [
      {
        ...finding,
        ok: false,
        message: `${directory} cannot be read: ${(thrown as Error).message}`,
        fix: "restore it from a backup, check its permissions, or use another one with --data",
      },
    ];
  }
}

/** Whether a directory has a database. Throws if that cannot be known, or if the directory is a file. */
function isThere(directory: string, database: string): boolean {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === false) {
    throw new Error("it is not a directory");
  }
  return statSync(database, { throwIfNoEntry: false }) !== undefined;
}

/** The format of a database, and the number of its newest commit. */
function readNewest(path: string): { readonly format: number; readonly newest: number } {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 1_000 });
  try {
    const format = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (format === 0 || format > VERSION) return { format, newest: Infinity };
    return { format, newest: Number(database.prepare("SELECT max(n) AS n FROM batch").get()?.["n"] ?? 0) };
  } finally {
    database.close();
  }
}

function isHeld(directory: string): boolean {
  const lock = join(directory, "lock");
  if (!existsSync(lock)) return false;
  try {
    takeLock(lock)();
    return false;
  } catch (thrown) {
    if (thrown instanceof DirectoryInUse) return true;
    throw thrown;
  }
}
