import { readFileSync, rmSync, writeFileSync } from "node:fs";

/** Writes down the process that serves a data directory, for whoever has to end it, until it exits. */
export function writePid(path: string): void {
  const pid = `${process.pid}\n`;
  writeFileSync(path, pid, { mode: 0o600 });
  process.once("exit", () => {
    // The directory is free before the process is gone; another one may have written itself down.
    if (read(path) === pid) rmSync(path, { force: true });
  });
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
