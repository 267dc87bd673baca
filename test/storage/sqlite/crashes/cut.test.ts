import { cpSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DamagedLog, sqliteLog } from "../../../../src/storage/sqlite/index.ts";
import { nextEvents, asRunId, startRun } from "../../../../src/testing/event-log/subject.ts";
import { temporaryDirectory } from "../../directories.ts";

const names = Array.from({ length: 40 }, (_, index) => `run-${index}`);

async function makeLog(directory: string): Promise<void> {
  const log = sqliteLog(directory);
  for (const name of names) {
    const cursor = await startRun(log, name, 10);
    await log.append(cursor, nextEvents(cursor, 10));
  }
  await log.close();
}

test("a truncated database is refused, and its directory is free again", { tags: "long" }, async () => {
  const whole = temporaryDirectory();
  await makeLog(whole);
  const size = statSync(join(whole, "log.db")).size;

  for (let at = 512; at < size; at += 1_536) {
    const directory = temporaryDirectory();
    cpSync(whole, directory, { recursive: true });
    truncateSync(join(directory, "log.db"), at);
    for (const attempt of ["first", "second"]) {
      expect(() => sqliteLog(directory), `cut at ${at}, ${attempt} attempt`).toThrow(DamagedLog);
    }
  }
});

test("a closed log tells its readers to retry", async () => {
  const log = sqliteLog(temporaryDirectory());
  await startRun(log, "run", 1);
  await log.close();

  await expect(log.run(asRunId("run"))).rejects.toMatchObject({ code: "unavailable" });
});
