import { readFileSync, rmSync, writeFileSync } from "node:fs";

/** Writes a line about the serving process into a file, for scripts and other commands, until the process exits. */
export function writeNote(path: string, line: string): void {
  const text = `${line}\n`;
  writeFileSync(path, text, { mode: 0o600 });
  process.once("exit", () => {
    // The directory is released before the process ends, so the file may already be another process's.
    if (readNote(path) === line) rmSync(path, { force: true });
  });
}

/** The line in such a file; `undefined` if there is none. */
export function readNote(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return undefined;
  }
}

/** The file in a data directory with the id of the process that serves it. */
export const PID_NOTE = "pid";

/** The file in a data directory with the address at which it is served. */
export const URL_NOTE = "url";
