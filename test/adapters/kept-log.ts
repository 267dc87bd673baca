import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryLog } from "troupe";
import type { EventLog, MemoryLog } from "troupe";
import { sqliteLog } from "troupe/storage/sqlite";
import { runsLong } from "../machine/long.ts";

/**
 * The log of a server that a test restarts. It is on disk in a run that has the long tests, and else in memory: each opening
 * of a log on disk starts a thread, and what a new process finds is the same.
 */
export class KeptLog {
  readonly #directory = runsLong ? mkdtempSync(join(tmpdir(), "troupe-kept-")) : undefined;
  #memory: MemoryLog | undefined;

  /** Opens it as the next process would. */
  open(): EventLog {
    if (this.#directory !== undefined) return sqliteLog(this.#directory);
    this.#memory = this.#memory?.reopen() ?? memoryLog();
    return this.#memory;
  }

  remove(): void {
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true });
  }
}
