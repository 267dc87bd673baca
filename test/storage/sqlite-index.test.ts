import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunId } from "troupe/protocol";
import { afterEach, expect, test } from "vitest";
import { Unavailable } from "../../src/ports/event-log.ts";
import { sqliteLog } from "../../src/storage/sqlite/sqlite-log.ts";

const directory = mkdtempSync(join(tmpdir(), "troupe-index-"));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test("a run whose name leads to another one is damaged, and shows nobody the other's events", async () => {
  const names = ["one", "two", "three"].map((name) => `run_${name.padEnd(21, "x")}` as RunId);
  const log = sqliteLog(directory);
  for (const runId of names) {
    const { cursor } = await log.claim(runId);
    const times = { createdAt: 1, updatedAt: 1 };
    const run = { agent: "a", status: "idle", turns: 1, initialInput: null, metadata: {}, ...times } as const;
    await log.append(cursor, { events: [`{"id":1,"run_id":"${runId}"}`], records: [], run });
  }
  await log.close();

  // In the index a name is followed by the number of its run: the second one gets that of the third.
  const path = join(directory, "log.db");
  const file = readFileSync(path);
  const entry = Buffer.concat([Buffer.from(names[1] ?? ""), Buffer.from([2])]);
  const at = file.indexOf(entry);
  expect(at).toBeGreaterThan(0);
  file[at + entry.length - 1] = 3;
  writeFileSync(path, file);

  const damaged = sqliteLog(directory);
  try {
    await expect(damaged.read(names[1] as RunId, { after: 0 })).rejects.toThrow(Unavailable);
    await expect(damaged.claim(names[1] as RunId)).rejects.toThrow(Unavailable);
    expect((await damaged.read(names[2] as RunId, { after: 0 })).events).toHaveLength(1);
  } finally {
    await damaged.close();
  }
});
