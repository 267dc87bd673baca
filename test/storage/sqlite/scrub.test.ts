/** @module-tag long */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Cursor, EventLog } from "../../../src/ports/event-log.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { asRequestId, asRunId, row } from "../../../src/testing/event-log/subject.ts";
import { temporaryDirectory } from "../directories.ts";

const CANARY = "canary-7f3a";

/** How often the text is in each file of a directory that has it. */
function findIn(directory: string, text: string): Readonly<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
    const path = join(directory, name);
    if (!statSync(path).isFile()) continue;
    const times = readFileSync(path).toString("latin1").split(text).length - 1;
    if (times > 0) found[name] = times;
  }
  return found;
}

/** Writes runs with texts of these lengths; every third run has the canary in all that a run can have. */
async function writeRuns(log: EventLog, lengths: readonly number[]): Promise<readonly Cursor[]> {
  const marked: Cursor[] = [];
  for (const [index, length] of lengths.entries()) {
    const isMarked = index % 3 === 1;
    const word = isMarked ? `${CANARY}-${index}` : `plain-${index}`;
    const text = `${word} ${"x".repeat(length)} ${word}`;
    let { cursor } = await log.claim(asRunId(`run_${index}`));
    const run = row({ metadata: { text }, initialInput: text });
    const requests = [
      { requestId: asRequestId(`req_${index}`), phase: "running", createdAt: 1, started: 1 } as const,
    ];
    cursor = await log.append(cursor, {
      run,
      requests,
      alias: { agent: "agent", name: `${word}-key` },
      events: [JSON.stringify({ id: 1, type: "RunStarted", text })],
      records: [],
    });
    for (const id of [2, 3]) {
      const events = [JSON.stringify({ id, type: "TextOutput", content: text })];
      cursor = await log.append(cursor, { events, records: [] });
    }
    cursor = await log.append(cursor, {
      run: row({ metadata: { text, more: text.slice(0, 50) } }),
      requests: [{ requestId: asRequestId(`req_${index}`), phase: "completed", completed: 4 }],
      events: [JSON.stringify({ id: 4, type: "RequestCompleted", text })],
      records: [{ n: 1, after: 4, type: "MemoryRecorded", version: 1, value: text }],
      snapshot: { value: text },
    });
    if (isMarked) marked.push(cursor);
    else log.release(cursor);
  }
  return marked;
}

test("after a scrub no file has a text of a removed run, and the other runs are whole", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.nat(200), fc.nat(6_000), fc.nat(40_000)), { minLength: 3, maxLength: 60 }),
      async (lengths) => {
        const directory = temporaryDirectory();
        const log = sqliteLog(directory, { durability: "relaxed" });
        const marked = await writeRuns(log, lengths);
        await log.indexed?.();
        expect(findIn(directory, CANARY)).not.toEqual({});
        expect((await log.list({ limit: 9, text: "canary" })).runs).not.toEqual([]);
        for (const cursor of marked) await log.remove(cursor);
        await log.scrub();

        expect(findIn(directory, CANARY)).toEqual({});
        // An index has a word without what it shares with the one before.
        expect(findIn(directory, "anary")).toEqual({});
        for (const index of lengths.keys()) {
          const { events } = await log.read(asRunId(`run_${index}`), { after: 0 });
          expect(events).toHaveLength(index % 3 === 1 ? 0 : 4);
        }
        await log.close();
        expect(findIn(directory, CANARY)).toEqual({});
      },
    ),
    { numRuns: 5 },
  );
});

test("scrubs end beside commits without a pause, which are all kept", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory, { durability: "relaxed" });
  const marked = await writeRuns(
    log,
    Array.from({ length: 150 }, () => 20_000),
  );
  let { cursor } = await log.claim(asRunId("run_busy"));
  let isOver = false;
  const scrubs = async (): Promise<void> => {
    for (const [index, each] of marked.entries()) {
      await log.remove(each);
      if (index % 5 === 4) await log.scrub();
    }
  };
  const scrubbed = scrubs().finally(() => (isOver = true));
  for (let id = 1; !isOver; id += 1) {
    const events = [JSON.stringify({ id, type: "TextOutput", content: "y".repeat(id % 5_000) })];
    cursor = await log.append(cursor, { run: row(), events, records: [] });
  }
  await scrubbed;
  expect(findIn(directory, CANARY)).toEqual({});
  expect(cursor.head).toBeGreaterThan(10);
  await log.close();
  using database = new DatabaseSync(join(directory, "log.db"));
  expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
});

test("a scrub of a closed log is refused", async () => {
  const log = sqliteLog(temporaryDirectory());
  await log.close();
  await expect(log.scrub()).rejects.toThrow("the log is closed");
});
