import { writeFileSync } from "node:fs";

/** Writes down the process that serves a data directory, for whoever has to end it. */
export function writePid(path: string): void {
  writeFileSync(path, `${process.pid}\n`, { mode: 0o600 });
}
