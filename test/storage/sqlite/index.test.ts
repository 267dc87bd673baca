import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { RequestId, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { Unavailable } from "../../../src/ports/event-log.ts";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { DamagedLog, sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { openUnlessDamaged, temporaryDirectory } from "../directories.ts";

const RUNS = ["one", "two", "three"].map((name) => `run_${name.padEnd(21, "x")}` as RunId);
const REQUESTS = ["one", "two", "three"].map((name) => `req_${name.padEnd(21, "x")}` as RequestId);

/** A closed log of three runs with a request and two events each. */
async function threeRuns(): Promise<string> {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  for (const [index, runId] of RUNS.entries()) {
    const { cursor } = await log.claim(runId);
    const times = { createdAt: 1, updatedAt: 1 };
    const run = { agent: "a", status: "idle", turns: 1, initialInput: null, metadata: {}, ...times } as const;
    const requestId = REQUESTS[index] as RequestId;
    const requests = [{ requestId, phase: "queued", createdAt: 1, accepted: { n: 1, after: 0 } } as const];
    const next = await log.append(cursor, { events: ['{"id":1}'], records: [], run, requests });
    await log.append(next, { events: ['{"id":2}'], records: [], run });
  }
  await log.close();
  return directory;
}

/** A copy of a log with some bytes changed. */
function changed(directory: string, change: (file: Buffer) => void): string {
  const copy = temporaryDirectory();
  cpSync(directory, copy, { recursive: true });
  rmSync(join(copy, "lock"), { force: true });
  const path = join(copy, "log.db");
  const file = readFileSync(path);
  change(file);
  writeFileSync(path, file);
  return copy;
}

/** The positions of a text in a file. */
function placesOf(text: string, file: Buffer): readonly number[] {
  const places: number[] = [];
  for (let at = file.indexOf(text); at >= 0; at = file.indexOf(text, at + 1)) places.push(at);
  return places;
}

/** Logs of three runs with one flipped bit each in a stored name, without those refused as damaged. */
async function* logsMisspelling(name: string): AsyncIterable<EventLog> {
  const directory = await threeRuns();
  const places = placesOf(name, readFileSync(join(directory, "log.db")));
  expect(places.length).toBeGreaterThan(1);
  for (const place of places) {
    const log = openUnlessDamaged(
      changed(directory, (file) => {
        file[place + 6] = (file[place + 6] ?? 0) ^ 4;
      }),
    );
    if (log === undefined) continue;
    yield log;
    await log.close();
  }
}

test("a flipped bit in either copy of a run's name never makes the run look empty", async () => {
  const [, name] = RUNS as [RunId, RunId];
  for await (const log of logsMisspelling(name)) {
    expect((await log.read(name, { after: 0 })).events).toHaveLength(2);
  }
});

test(
  "a flipped bit in either copy of a request's name never makes the request look new",
  { tags: "long" },
  async () => {
    const [, name] = REQUESTS as [RequestId, RequestId];
    for await (const log of logsMisspelling(name)) {
      expect(await log.lookup(name)).toMatchObject({ requestId: name });
    }
  },
);

test("a run whose name leads to another run never shows the other's events, even if losses are accepted", async () => {
  const directory = changed(await threeRuns(), (file) => {
    // In the index a name is followed by the rid of its run: the second one gets that of the third.
    const entry = Buffer.concat([Buffer.from(RUNS[1] ?? ""), Buffer.from([2])]);
    const at = file.indexOf(entry);
    expect(at).toBeGreaterThan(0);
    file[at + entry.length - 1] = 3;
  });
  expect(() => sqliteLog(directory)).toThrow(DamagedLog);

  const log = sqliteLog(directory, { acceptLoss: true });
  try {
    await expect(log.read(RUNS[1] as RunId, { after: 0 })).rejects.toThrow(Unavailable);
    await expect(log.claim(RUNS[1] as RunId)).rejects.toThrow(Unavailable);
    expect((await log.read(RUNS[2] as RunId, { after: 0 })).events).toHaveLength(2);
  } finally {
    await log.close();
  }
});

test("a run that lacks its newest events is damaged", async () => {
  const directory = await threeRuns();
  const database = new DatabaseSync(join(directory, "log.db"));
  database.exec("DELETE FROM chunk WHERE rid = 2 AND last = 2");
  database.close();

  const log = sqliteLog(directory);
  try {
    await expect(log.read(RUNS[1] as RunId, { after: 0 })).rejects.toThrow(Unavailable);
    await expect(log.claim(RUNS[1] as RunId)).rejects.toThrow(Unavailable);
    expect((await log.read(RUNS[0] as RunId, { after: 0 })).events).toHaveLength(2);
  } finally {
    await log.close();
  }
});

test("a log with foreign tables is damaged", async () => {
  const directory = changed(await threeRuns(), (file) => {
    // A page of the schema that was divided has an old copy of its texts.
    for (let at = file.indexOf("metadata TEXT"); at !== -1; at = file.indexOf("metadata TEXT"))
      file.write("metadatb TEXT", at);
  });
  expect(() => sqliteLog(directory)).toThrow(DamagedLog);
});

test("a text that has become a number or null is damaged", { tags: "long" }, async () => {
  const damages = [
    "UPDATE chunk SET records = 5",
    "UPDATE chunk SET body = 5",
    "UPDATE chunk SET last = 9007199254740993",
    "UPDATE run SET metadata = '{'",
  ];
  const directory = await threeRuns();
  for (const sql of damages) {
    const copy = changed(directory, () => {});
    const database = new DatabaseSync(join(copy, "log.db"));
    database.exec(`${sql} WHERE rid = 2`);
    database.close();

    const log = sqliteLog(copy);
    try {
      await expect(log.claim(RUNS[1] as RunId)).rejects.toThrow(Unavailable);
      expect((await log.read(RUNS[0] as RunId, { after: 0 })).events).toHaveLength(2);
    } finally {
      await log.close();
    }
  }
});
