import { onTestFinished, describe, expect, test } from "vitest";
import type { EventLog } from "troupe";
import { postgresLog } from "../../src/storage/postgres/index.ts";
import { sqliteLog } from "../../src/storage/sqlite/index.ts";
import { asRunId, row } from "../../src/testing/event-log/subject.ts";
import { needsPostgres } from "../machine/postgres.ts";
import { temporaryDirectory } from "./directories.ts";
import { newDatabase } from "./postgres/databases.ts";

/** More than a search looks at one by one. */
const RUNS = 1_050;

/** The first runs are the last ones of the list. */
async function searchIn(log: EventLog): Promise<Readonly<Record<string, readonly string[]>>> {
  onTestFinished(() => log.close());
  await Promise.all(
    Array.from({ length: RUNS }, async (_, n) => {
      const { cursor } = await log.claim(asRunId(`run-${n}`));
      const input = `international order ${n}${n < 2 ? " parcel" : ""}`;
      const fields = { updatedAt: 1_000 + n, initialInput: input, ...(n % 2 === 0 && { owner: "acme" }) };
      log.release(await log.append(cursor, { events: [], records: [], run: row(fields) }));
    }),
  );
  await log.indexed?.();
  const found = async (text: string, owner?: string): Promise<readonly string[]> =>
    (await log.list({ limit: 3, text, ...(owner && { owner }) })).runs.map(({ runId }) => runId);
  return {
    "one word": await found("parcel"),
    "a rare word, which is longer": await found("order parcel"),
    "of an owner": await found("order parcel", "acme"),
    "a rare word, which is shorter": await found("international parcel"),
    "more words": await found("international order parcel 1"),
    "one of no run": await found("parcel nothing"),
    "words of all runs": await found("international order"),
  };
}

const FOUND = {
  "one word": ["run-1", "run-0"],
  "a rare word, which is longer": ["run-1", "run-0"],
  "of an owner": ["run-0"],
  "a rare word, which is shorter": ["run-1", "run-0"],
  "more words": ["run-1"],
  "one of no run": [],
  "words of all runs": [1, 2, 3].map((n) => `run-${RUNS - n}`),
};

test("SQLite finds runs with several words behind the first thousand", async () => {
  expect(await searchIn(sqliteLog(temporaryDirectory()))).toEqual(FOUND);
});

describe("with PostgreSQL", () => {
  needsPostgres();

  test("it finds runs with several words behind the first thousand", async () => {
    expect(await searchIn(await postgresLog({ url: await newDatabase() }))).toEqual(FOUND);
  });
});
