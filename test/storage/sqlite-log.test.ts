import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { EventLog } from "../../src/ports/event-log.ts";
import { sqliteLog } from "../../src/storage/sqlite/index.ts";
import { testEventLog } from "../../src/testing/event-log/test-event-log.ts";

for (const durability of ["full", "relaxed"] as const) {
  const directories = new WeakMap<EventLog, string>();
  const openIn = (directory: string): EventLog => {
    const log = sqliteLog(directory, { durability });
    directories.set(log, directory);
    return log;
  };

  testEventLog({
    name: `SQLite (${durability})`,
    async open() {
      const directory = await mkdtemp(join(tmpdir(), "sqlite-log-"));
      onTestFinished(() => rm(directory, { recursive: true }));
      return openIn(directory);
    },
    async reopen(log) {
      await log.close();
      return openIn(directories.get(log) ?? "");
    },
  });
}
