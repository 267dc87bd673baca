import { closeSync, fsyncSync, openSync } from "node:fs";

/**
 * Creates an empty file that only its owner can read, if it does not exist. An existing file is not opened,
 * because closing it would drop the process's locks on it.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Makes the names of the files in a directory survive a power failure, where the system can. */
export function syncDirectory(path: string): void {
  if (process.platform === "win32") return;
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
