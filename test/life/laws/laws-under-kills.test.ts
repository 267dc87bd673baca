/** @module-tag long */
import { describe, expect, test } from "vitest";
import { needsPostgres, postgresUrl } from "../../machine/postgres.ts";
import { newSchema } from "../../storage/postgres/logs.ts";
import { keepLawsUnderKills } from "./laws-under-kills.ts";

/** `npm run test:life -- --only laws` does more. */
const few = { sagas: 1, watched: 2, racing: 3, accounts: 6, every: 25 };

test(
  "a server that is killed keeps the laws of cleanup, watch, select and retention",
  { timeout: 600_000 },
  async () => {
    const { faults, kills } = await keepLawsUnderKills(few);
    expect(faults).toEqual([]);
    expect(kills).toBeGreaterThan(1);
  },
);

describe("in a cluster", () => {
  needsPostgres();

  test("two nodes of which one after the other is killed keep them too", { timeout: 600_000 }, async () => {
    const database = { url: await postgresUrl(), schema: newSchema() };
    const { faults, kills } = await keepLawsUnderKills({ ...few, database });
    expect(faults).toEqual([]);
    expect(kills).toBeGreaterThan(1);
  });
});
