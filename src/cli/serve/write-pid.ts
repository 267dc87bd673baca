import { readFileSync, rmSync, writeFileSync } from "node:fs";

/** Writes the pid of the serving process into a file, for scripts that stop it, until the process exits. */
export function writePid(path: string): void {
  const pid = `${process.pid}\n`;
  writeFileSync(path, pid, { mode: 0o600 });
  process.once("exit", () => {
    // The directory is released before the process ends, so the file may already be another process's.
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
