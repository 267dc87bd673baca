/** @module-tag long */
import { test } from "vitest";
import { runSession } from "./cycles.ts";
import { compileFailingFsync } from "./disk/failing-fsync.ts";
import { faults, fsyncFault } from "./faults.ts";
import { fillDisk } from "./disk/full-disk.ts";
import { skipWithoutCompiler, skipWithoutSmallDisk } from "../machine/skip-without.ts";
import { FaultTable } from "./fault-table.ts";
import { shortened } from "../machine/long.ts";

// Runs some of the faults once; `npm run test:faults -- --cycles 1000` runs all of them many times.
const QUICK = new Set([
  "kill -9 at a random moment",
  "kill -9 while it starts",
  "kill -9 during commit",
  "kill -9 between call and effect",
  "kill -9 after effect, before its result",
  "kill -9 after completion, before its result",
  "kill -9 during recovery, after it is counted",
  "SIGTERM under load",
  "a second process on the same directory",
]);
// Twenty times the duration on a quiet machine.
const TIMEOUT_MS = 400_000;

test.concurrent.for(shortened([0, 1], 1))(
  "no death of the server breaks an invariant, and damaged files are never read as intact (%i)",
  { timeout: TIMEOUT_MS },
  async (half, { expect }) => {
    const faultTable = new FaultTable();
    const mine = faults.filter(({ name }) => QUICK.has(name)).filter((_, index) => index % 2 === half);
    await runSession(mine, { seed: half, faultTable, damages: 4 });
    expect(faultTable.violations).toEqual([]);
  },
);

test(
  "after a failed fsync nothing more is accepted, and nothing is lost or done twice",
  { timeout: TIMEOUT_MS, concurrent: true },
  async ({ expect, skip }) => {
    const fsync = compileFailingFsync() ?? skipWithoutCompiler(skip);
    const faultTable = new FaultTable();
    await runSession([fsyncFault(fsync)], { seed: 2, faultTable, damages: 0 });
    expect(faultTable.violations).toEqual([]);
  },
);

test.concurrent(
  "a server on a full disk still serves reads, and accepts requests again when there is space",
  { tags: "long", timeout: TIMEOUT_MS },
  async ({ expect, skip }) => {
    const violations = (await fillDisk(3)) ?? skipWithoutSmallDisk(skip);
    expect(violations).toEqual([]);
  },
);
