import { memoryLog } from "troupe";
import { sqliteLog } from "troupe/storage/sqlite";
import { describe, expect, test } from "vitest";
import { needsPostgres } from "../machine/postgres.ts";
import { openEmpty } from "../storage/postgres/logs.ts";
import { temporaryDirectory } from "../storage/directories.ts";
import { askWithoutPause } from "./clients.ts";
import { beat } from "./heartbeat.ts";

/** `npm run test:life -- --only clients` asks more. */
const ASKS = 600;

test(
  "an actor that 32 clients ask without a pause is renewed, refuses nothing and counts each ask once",
  { tags: "long" },
  async () => {
    const { answers, refusals, renewals } = await askWithoutPause(memoryLog(), ASKS);
    expect({ answers, refusals }).toEqual({ answers: ASKS, refusals: [] });
    expect(renewals).toBeGreaterThan(2);
  },
);

test("a heart beats on by its own timer, over a restart", async () => {
  const directory = temporaryDirectory();
  const { beats, remembered } = await beat(() => sqliteLog(directory), 10);
  expect([beats, remembered]).toEqual([10, 10]);
});

describe("on PostgreSQL", { tags: "long" }, () => {
  needsPostgres();

  test("it is renewed under clients without a pause too", { timeout: 300_000 }, async () => {
    const { answers, refusals, renewals } = await askWithoutPause(await openEmpty(), ASKS);
    expect({ answers, refusals }).toEqual({ answers: ASKS, refusals: [] });
    expect(renewals).toBeGreaterThan(2);
  });
});
