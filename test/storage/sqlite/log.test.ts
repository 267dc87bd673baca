import type { EventLog } from "../../../src/ports/event-log.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import type { SqliteLogOptions } from "../../../src/storage/sqlite/index.ts";
import { testEventLog } from "../../../src/testing/event-log/test-event-log.ts";
import { temporaryDirectory } from "../directories.ts";
import { runsLong } from "../../machine/long.ts";

testSqliteLog("SQLite", {});
// A cache so small that readers switch between memory and database.
if (runsLong)
  testSqliteLog("relaxed SQLite", { durability: "relaxed", cacheBytes: 4_000, commitIntervalMs: 1 });

function testSqliteLog(name: string, options: SqliteLogOptions): void {
  const directories = new WeakMap<EventLog, string>();

  const openIn = (directory: string): EventLog => {
    const log = sqliteLog(directory, options);
    directories.set(log, directory);
    return log;
  };

  testEventLog({
    name,
    open: async () => openIn(temporaryDirectory()),
    async reopen(log) {
      await log.close();
      return openIn(directories.get(log) ?? "");
    },
  });
}
