import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../../src/storage/sqlite/format/schema.ts";
import { Leftovers } from "../../../src/storage/sqlite/writer/leftovers.ts";
import { createPageMemory, PAGE, PageStates } from "../../../src/storage/sqlite/writer/page-states.ts";
import { temporaryDirectory } from "../directories.ts";

const CANARY = "canary-51c9";

/** A database with tables of each kind, and what is known of its pages. */
function open() {
  const path = join(temporaryDirectory(), "log.db");
  const database = openDatabase(path, "relaxed");
  database.exec(`
    CREATE TABLE row (id INTEGER PRIMARY KEY, name TEXT NOT NULL, body TEXT NOT NULL);
    CREATE INDEX row_name ON row (name, body);
    CREATE TABLE entry (name TEXT PRIMARY KEY, id INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID`);
  const states = new PageStates(path, createPageMemory());
  const file = openSync(path, "r+");
  onTestFinished(() => database.close());
  const leftovers = new Leftovers(file, states);
  return {
    database,
    states,
    /** Moves the write-ahead log, and wipes what is not known to be clean. Returns whether the canary was there before, and is after. */
    wipe(): readonly [before: boolean, after: boolean] {
      leftovers.gather();
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      leftovers.moved(0);
      const before = readFileSync(path).includes(CANARY);
      leftovers.wipeAll();
      database.exec("PRAGMA shrink_memory");
      return [before, readFileSync(path).includes(CANARY)];
    },
  };
}

function insert(database: DatabaseSync, id: number, word: string, length: number): void {
  // The names are in no order, so that rows move when pages are divided.
  const name = `${(id * 7_919) % 1_000}-${word}`;
  const body = `${word} ${"x".repeat(length)} ${word}`;
  database.prepare("INSERT INTO row VALUES (?, ?, ?)").run(id, name, body);
  database.prepare("INSERT INTO entry VALUES (?, ?, ?)").run(name, id, body);
}

function dump(database: DatabaseSync): readonly unknown[] {
  return ["row", "entry"].flatMap((table) => database.prepare(`SELECT * FROM ${table} ORDER BY id`).all());
}

test("what deleted rows have left is overwritten, and all other rows are as they were", () => {
  let found = 0;
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.oneof(fc.nat(80), fc.nat(2_000), fc.nat(30_000)), { maxLength: 60 }), {
        minLength: 1,
        maxLength: 4,
      }),
      (rounds) => {
        const { database, wipe } = open();
        let id = 0;
        for (const lengths of rounds) {
          const marked: number[] = [];
          database.exec("BEGIN");
          for (const length of lengths) {
            id += 1;
            if (id % 3 === 0) marked.push(id);
            insert(database, id, id % 3 === 0 ? `${CANARY}-${id}` : `plain-${id}`, length);
          }
          database.exec("COMMIT");
          // A text becomes shorter in the transaction that frees its pages.
          for (const table of ["row", "entry"]) {
            for (const own of marked)
              database
                .prepare(`UPDATE ${table} SET body = substr(body, 1, length(body) / 2) WHERE id = ?`)
                .run(own);
            for (const own of marked.toReversed())
              database.prepare(`DELETE FROM ${table} WHERE id = ?`).run(own);
          }
          const rows = dump(database);
          const [before, after] = wipe();
          if (before) found += 1;
          expect(after).toBe(false);
          expect(dump(database)).toEqual(rows);
          expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
        }
      },
    ),
    { numRuns: 15 },
  );
  expect(found).toBeGreaterThan(5);
});

test("only pages that have changed since are read again", () => {
  const { database, states, wipe } = open();
  database.exec("BEGIN");
  for (let id = 1; id <= 900; id += 1) insert(database, id, "plain", 1_000);
  database.exec("COMMIT");
  wipe();
  const pages = Number(database.prepare("PRAGMA page_count").get()?.["page_count"]);
  const isUnknown = (page: number): boolean => states.get(page) === PAGE.unknown;
  const numbers = Array.from({ length: pages }, (_, index) => index + 1);
  expect(numbers.filter(isUnknown)).toEqual([]);

  database.exec("UPDATE entry SET id = 1000 WHERE id = 500");
  states.gather();
  expect(numbers.filter(isUnknown).length).toBeGreaterThan(0);
  expect(numbers.filter(isUnknown).length).toBeLessThan(10);
});
