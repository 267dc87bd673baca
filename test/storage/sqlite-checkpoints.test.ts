import { spawnSync } from "node:child_process";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { sqliteLog } from "../../src/storage/sqlite/index.ts";
import { nextEvents, row, runId, startRun } from "../../src/testing/event-log/subject.ts";
import { startLogChild, temporaryDirectory } from "./directories.ts";

const MEGABYTE = 1024 * 1024;

test("the write-ahead log stays bounded however much is written without a pause", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  let cursor = await startRun(log, "run", 1);
  const content = "x".repeat(MEGABYTE);
  for (let count = 0; count < 250; count += 1) {
    const event = JSON.stringify({ id: cursor.head + 1, content });
    cursor = await log.append(cursor, { events: [event], records: [], run: row() });
  }

  expect(statSync(join(directory, "log.db-wal")).size).toBeLessThan(160 * MEGABYTE);
  await log.close();
}, 60_000);

// A library that is loaded before a process stands between it and the disk, where there is a C compiler.
const source = fileURLToPath(new URL("sync-of-file.c", import.meta.url));
const compile = ["-shared", "-fPIC", "-O1", source, "-ldl", "-o"];
const canCompile = process.platform === "linux" && spawnSync("cc", [...compile, "/dev/null"]).status === 0;

test.skipIf(!canCompile)(
  "appends go on while what they add is moved into the database",
  async () => {
    const { directory, command } = await logWithSlowDisk();
    const held = join(directory, "held");
    writeFileSync(held, "");
    const child = startLogChild("hold", directory, { command: [...command, `SYNC_HELD=${held}`] });
    const said: unknown[] = [];
    for await (const line of child.lines) said.push(JSON.parse(line));

    expect(await child.ended).toBe(0);
    expect(said).toEqual([{ reached: true, appended: 100, held: true }, { closed: true }]);
  },
  60_000,
);

test.skipIf(!canCompile)(
  "what cannot be moved into the database is not lost, and stops appends",
  async () => {
    const { directory, command } = await logWithSlowDisk();
    const child = startLogChild("exceed", directory, { command });
    const said: { readonly heads: readonly (readonly [string, number])[] }[] = [];
    for await (const line of child.lines) said.push(JSON.parse(line) as (typeof said)[number]);

    expect(await child.ended).toBe(0);
    expect(said).toMatchObject([
      {
        refused: ["Unavailable", "Unavailable", "Unavailable", "Unavailable"],
        health: { writable: false, reason: "a checkpoint failed: disk I/O error" },
        readable: true,
        afterClaim: "Unavailable",
      },
    ]);
    const log = sqliteLog(directory);
    for (const [run, head] of said[0]?.heads ?? []) {
      const page = await log.read(runId(run), { after: 0 });
      expect(page.events).toHaveLength(page.head);
      expect(page.head).toBeGreaterThanOrEqual(head);
    }
    const { cursor } = await log.claim(runId("run"));
    await log.append(cursor, nextEvents(cursor, 1));
    await log.close();
  },
  60_000,
);

/** A log, and the command before a process for which syncs of its database are not as usual. */
async function logWithSlowDisk(): Promise<{ readonly directory: string; readonly command: string[] }> {
  const directory = temporaryDirectory();
  const library = join(temporaryDirectory(), "sync-of-file.so");
  spawnSync("cc", [...compile, library]);
  await sqliteLog(directory).close();
  const command = ["env", `LD_PRELOAD=${library}`, `SYNC_OF=${join(directory, "log.db")}`];
  return { directory, command };
}
