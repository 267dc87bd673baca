import { existsSync, mkdirSync, statSync } from "node:fs";
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
