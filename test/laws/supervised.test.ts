import { sqliteLog } from "troupe/storage/sqlite";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../storage/directories.ts";
import { runsLong } from "../machine/long.ts";
import { runSupervised, runSupervisedOnDisk } from "./supervised.ts";

/** `npm run test:life -- --only supervised` runs more programs, and dies at every commit. */
const EVERY = Number(process.env["TROUPE_SUPERVISED_EVERY"] ?? (runsLong ? 11 : 37));
const PROGRAMS = Number(process.env["TROUPE_SUPERVISED_PROGRAMS"] ?? (runsLong ? 12 : 3));

test(
  "what fails is tried as often as its supervisor says and once each, whichever commit the process dies at",
  { timeout: 600_000 },
  async () => {
    const { faults, deaths } = await runSupervised(PROGRAMS, EVERY);
    expect(faults).toEqual([]);
    expect(deaths).toBeGreaterThan(runsLong ? 50 : 2);
  },
);

test(
  "the same holds on SQLite, over restarts in the midst of work",
  { tags: "long", timeout: 600_000 },
  async () => {
    const directories = new Map<number, string>();
    const open = (seed: number) => {
      const directory = directories.get(seed) ?? temporaryDirectory();
      directories.set(seed, directory);
      return sqliteLog(directory, { durability: "relaxed" });
    };
    expect(await runSupervisedOnDisk(open, Math.ceil(PROGRAMS / 6))).toEqual([]);
  },
);
