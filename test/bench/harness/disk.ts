import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { median } from "./statistics.ts";

/** The time that this disk takes for a commit of 32 rows, in milliseconds. */
export function commitMs(): number {
  const directory = mkdtempSync(join(tmpdir(), "troupe-bench-"));
  try {
    const database = new DatabaseSync(join(directory, "log.db"));
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE chunk (body TEXT)");
    const insert = database.prepare("INSERT INTO chunk (body) VALUES (?)");
    const body = "x".repeat(1_000);
    const times = Array.from({ length: 200 }, () => {
      const startedAt = performance.now();
      database.exec("BEGIN");
      for (let row = 0; row < 32; row += 1) insert.run(body);
      database.exec("COMMIT");
      return performance.now() - startedAt;
    });
    database.close();
    return median(times);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Compiles a library that slows down every fsync of a program; `undefined` without a compiler. */
export function buildSlowDisk(directory: string): string | undefined {
  const library = join(directory, "slow-disk.so");
  const source = join(import.meta.dirname, "slow-disk.c");
  const { status } = spawnSync("cc", ["-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"]);
  return status === 0 ? library : undefined;
}
