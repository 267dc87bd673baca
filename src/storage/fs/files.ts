import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Creates a directory that only its owner can read, and those above it, where they do not exist. The recursive mode of
 * Node's mkdir never returns below a directory like /proc, which takes no new entries.
 */
export function createDirectory(path: string): void {
  const full = resolve(path);
  if (isDirectory(full)) return;
  const above = dirname(full);
  if (!existsSync(above)) createDirectory(above);
  try {
    mkdirSync(full, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it in the meantime.
    if (!isDirectory(full)) throw error;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/**
 * Creates an empty file that only its owner can read, if it does not exist. An existing file is not opened, because
 * closing it would drop the process's locks on it.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Makes the names of the files in a directory survive a power failure, where the system can. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const directory = await open(path);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** The same for a start, which waits for it. */
export function syncDirectoryNow(path: string): void {
  if (process.platform === "win32") return;
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
