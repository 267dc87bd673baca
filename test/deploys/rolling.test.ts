/** @module-tag long */
import { expect, test } from "vitest";
import { needsPostgres } from "../machine/postgres.ts";
import { newDatabase } from "../storage/postgres/databases.ts";
import { rollUnder } from "./rolling.ts";

needsPostgres();

test("a rolling update of two nodes that are killed ends no run, and each goes on with the code that it began with", async () => {
  const report = await rollUnder(await newDatabase(), { runs: 18, keep: true });
  expect(report).toEqual({ held: 0, ended: 18, ends: { success: 18 } });
});
