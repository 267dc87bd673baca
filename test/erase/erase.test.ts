/** @module-tag long */
import { expect, test } from "vitest";
import { needsPostgres } from "../machine/postgres.ts";
import { temporaryDirectory } from "../storage/directories.ts";
import { newDatabase } from "../storage/postgres/databases.ts";
import { databasePlace } from "./database.ts";
import { directoryPlace, erasing } from "./erasing.ts";

/** `npm run test:erase` erases 1,000 canaries among 100,000 runs. */
const SMALL = { runs: 100, canaries: 30, timed: 10 };

test("what `troupe erase` removes is in no file and no log line, also if the server is killed in the middle", async () => {
  const { before, after, ...report } = await erasing({
    place: directoryPlace(temporaryDirectory()),
    ...SMALL,
  });
  expect(before.length).toBeGreaterThan(3);
  expect(after).toEqual([]);
  expect(report).toMatchObject({ markedLines: 0, kept: 50 });
});

needsPostgres();

test("nor is it in a table of PostgreSQL", async () => {
  const { before, after, ...report } = await erasing({ place: databasePlace(await newDatabase()), ...SMALL });
  expect(before.length).toBeGreaterThan(3);
  expect(after).toEqual([]);
  expect(report).toMatchObject({ markedLines: 0, kept: 50 });
});
