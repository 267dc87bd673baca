import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sqliteLog } from "../../../../src/storage/sqlite/index.ts";
import { startRun } from "../../../../src/testing/event-log/subject.ts";
import { temporaryDirectory } from "../../directories.ts";

test("a first start that ends before the head file is written leaves a directory that can be opened", async () => {
  const directory = temporaryDirectory();
  const head = join(directory, "head");
  // The head file cannot be written there, so the start ends at that point.
  symlinkSync(join(directory, "nowhere", "head"), head);
  expect(() => sqliteLog(directory)).toThrow(/cannot be opened/);
  rmSync(head);

  const log = sqliteLog(directory);
  await expect(startRun(log, "run", 1)).resolves.toMatchObject({ head: 1 });
  await log.close();
});
