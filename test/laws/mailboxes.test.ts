import { sqliteLog } from "troupe/storage/sqlite";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../storage/directories.ts";
import { runsLong } from "../machine/long.ts";
import { runMailboxes, runMailboxesOnDisk } from "./mailboxes.ts";

/** More programs, and a death at every commit: `TROUPE_MAILBOXES=40 TROUPE_MAILBOXES_EVERY=1 npx vitest run test/laws/mailboxes.test.ts`. */
const PROGRAMS = Number(process.env["TROUPE_MAILBOXES"] ?? (runsLong ? 6 : 2));
const EVERY = Number(process.env["TROUPE_MAILBOXES_EVERY"] ?? (runsLong ? 13 : 41));

test(
  "priorities, coalescing, topics and dead letters are as without a death, whichever commit the process dies at",
  { timeout: 100_000 * PROGRAMS },
  async () => {
    const { faults, deaths } = await runMailboxes(PROGRAMS, EVERY);
    expect(faults).toEqual([]);
    expect(deaths).toBeGreaterThan(runsLong ? 20 : 1);
  },
);

test("the same holds on SQLite, over restarts", { tags: "long", timeout: 600_000 }, async () => {
  const directories = new Map<number, string>();
  const open = (seed: number) => {
    const directory = directories.get(seed) ?? temporaryDirectory();
    directories.set(seed, directory);
    return sqliteLog(directory, { durability: "relaxed" });
  };
  expect(await runMailboxesOnDisk(open, Math.ceil(PROGRAMS / 3))).toEqual([]);
});
