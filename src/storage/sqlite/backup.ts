import { existsSync } from "node:fs";
import { copyFile, mkdir, open, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { fieldOf } from "../../errors.ts";
import { fsArtifacts } from "../fs/artifacts.ts";
import { createDirectory, syncDirectory } from "../fs/files.ts";
import { fsSecrets } from "../fs/secrets.ts";
import { takeLock } from "./directory/lock.ts";
import { openDirectory } from "./directory/open-directory.ts";
import { DamagedLog, DirectoryInUse } from "./format/errors.ts";
import { readDirectory } from "./read-directory.ts";

/** What is in a backup. */
export interface BackedUp {
  readonly runs: number;
  /** Files of runs. */
  readonly artifacts: number;
  readonly bytes: number;
  /** The number of commits of the log; each one that was acknowledged before the backup began is among them. */
  readonly commits: number;
  /** Whether a server had the directory open. */
  readonly isOnline: boolean;
}

/**
 * Copies a data directory to a directory that does not exist, as it is at one moment, while a server may work on it. What the log
 * refers to is copied before that moment and again after it, so all that existed at that moment is in the copy, also if it is
 * removed meanwhile. The copy gets its name when it is whole, synced, and checked as by the start of a server.
 */
export async function backUpDirectory(from: string, to: string): Promise<BackedUp> {
  const part = `${resolve(to)}.incomplete`;
  const unlock = lockIfFree(from);
  try {
    await rm(part, { recursive: true, force: true });
    createDirectory(part);
    const files = new Map<string, string>();
    const copyFiles = async (): Promise<void> => {
      for (const name of ["artifacts", "versions"]) await copyTree(join(from, name), join(part, name), files);
      await copySecrets(from, part);
    };
    await copyFiles();
    // Never newer than the log: if the copy of the log lacked what it names, the check would say so.
    await copySynced(join(from, "head"), join(part, "head"));
    await copyDatabase(join(from, "log.db"), join(part, "log.db"), unlock !== undefined);
    await copyFiles();
    const commits = check(part);
    const runs = await removeArtifactsOfRemovedRuns(part);
    const { artifacts, bytes } = await measure(part);
    await rm(join(part, "lock"), { force: true });
    await syncDirectory(part);
    // An empty directory is one that the caller has made for it.
    if (existsSync(to)) await rmdir(to);
    await rename(part, to);
    await syncDirectory(dirname(resolve(to)));
    return { runs, artifacts, bytes, commits, isOnline: unlock === undefined };
  } catch (error) {
    await rm(part, { recursive: true, force: true });
    throw error;
  } finally {
    unlock?.();
  }
}

/** Keeps servers from a directory that none has open; `undefined` if one has. */
function lockIfFree(directory: string): (() => void) | undefined {
  try {
    return takeLock(join(directory, "lock"));
  } catch (error) {
    if (error instanceof DirectoryInUse) return undefined;
    throw error;
  }
}

/**
 * Copies a database in one step of SQLite's online backup, which sees one moment and makes no writer wait. In several steps it would
 * begin again after each commit of the server.
 */
async function copyDatabase(from: string, to: string, isAlone: boolean): Promise<void> {
  // Alone it may also bring a write-ahead log of a server that was killed into the database.
  const database = new DatabaseSync(from, { readOnly: !isAlone, timeout: 5_000 });
  try {
    await backup(database, to, { rate: ALL_PAGES });
  } finally {
    database.close();
  }
  await sync(to);
}

const ALL_PAGES = 2 ** 31 - 1;

/** Opens a copy as a server does, and reads all of it; returns the number of its commits. */
function check(directory: string): number {
  const { reader, head, unlock } = openDirectory(directory, { acceptLoss: false });
  reader.close();
  unlock();
  const database = new DatabaseSync(join(directory, "log.db"));
  try {
    const result = database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
    if (result !== "ok") throw new DamagedLog("a page of the database is damaged");
  } finally {
    database.close();
  }
  return head.batch;
}

/** Removes the files that were copied of runs that were removed before the moment of the copy; returns how many runs there are. */
async function removeArtifactsOfRemovedRuns(directory: string): Promise<number> {
  const { log, close } = readDirectory(directory);
  const artifacts = fsArtifacts(join(directory, "artifacts"));
  try {
    for (const runId of await namesIn(join(directory, "artifacts", "runs")))
      if ((await log.run(runId))?.removed === true) await artifacts.removeRun(runId);
    return (await log.list({ limit: 1, total: true })).total ?? 0;
  } finally {
    await artifacts.close();
    close();
  }
}

async function copySecrets(from: string, to: string): Promise<void> {
  const path = join(from, "secrets.json");
  if (!existsSync(path)) return;
  const source = fsSecrets(path);
  const values: Record<string, string> = {};
  for (const name of await source.names()) values[name] = (await source.get(name)) ?? "";
  await fsSecrets(join(to, "secrets.json")).put(values);
}

/** Copies the files below a directory that are new or changed since the last time. What vanishes meanwhile is left out. */
async function copyTree(from: string, to: string, known: Map<string, string>): Promise<void> {
  for (const entry of await entriesIn(from)) {
    const path = join(from, entry.name);
    if (entry.isDirectory() && entry.name !== UNFINISHED) await copyTree(path, join(to, entry.name), known);
    if (!entry.isFile() || entry.name.endsWith(TEMPORARY)) continue;
    try {
      const { ino, size, mtimeMs } = await stat(path);
      const state = `${ino} ${size} ${mtimeMs}`;
      if (known.get(path) === state) continue;
      await mkdir(to, { recursive: true, mode: 0o700 });
      await copySynced(path, join(to, entry.name));
      known.set(path, state);
    } catch (error) {
      if (fieldOf(error, "code") !== "ENOENT") throw error;
    }
  }
  if (existsSync(to)) await syncDirectory(to);
}

/** Uploads that are under way, and files that are not whole yet. */
const UNFINISHED = "incoming";
const TEMPORARY = ".new";

async function copySynced(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await sync(to);
}

async function sync(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

async function measure(directory: string): Promise<Pick<BackedUp, "artifacts" | "bytes">> {
  let bytes = 0;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size;
  const names = await namesIn(join(directory, "artifacts"));
  return { artifacts: names.filter((name) => name.endsWith(".bytes")).length, bytes };
}

async function namesIn(directory: string): Promise<readonly string[]> {
  return (await entriesIn(directory)).map(({ name }) => name);
}

async function entriesIn(directory: string) {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (error) {
    if (fieldOf(error, "code") === "ENOENT") return [];
    throw error;
  }
}
