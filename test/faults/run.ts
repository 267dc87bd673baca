// Kills servers, breaks their disks and damages their files, and prints the results: node test/faults/run.ts
// [--cycles 1000] [--seed 1] [--lanes 3]
import { parseArgs } from "node:util";
import { createRandom } from "../../src/testing/event-log/random.ts";
import { planFaults, rows, runSession } from "./cycles.ts";
import { compileFailingFsync } from "./disk/failing-fsync.ts";
import { faults, fsyncFault } from "./faults.ts";
import { fillDisk } from "./disk/full-disk.ts";
import { FaultTable } from "./fault-table.ts";

const { values } = parseArgs({
  options: {
    cycles: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    lanes: { type: "string", default: "3" },
  },
});
const kills = Number(values.cycles);
const firstSeed = Number(values.seed);

/** The number of faults per directory. */
const FAULTS_EACH = 20;
const FULL_DISK = "the disk is full for a while";

const fsync = compileFailingFsync();
if (fsync === undefined) console.error("There is no C compiler here: fsync does not fail in this run.");
const all = fsync === undefined ? faults : [...faults, fsyncFault(fsync)];
const plan = planFaults(all, kills, createRandom(firstSeed));
const faultTable = new FaultTable();
const startedAt = performance.now();
let nextSeed = firstSeed;
let printed = 0;

async function lane(): Promise<void> {
  for (let mine = plan.splice(0, FAULTS_EACH); mine.length > 0; mine = plan.splice(0, FAULTS_EACH)) {
    const seed = nextSeed;
    nextSeed += 1;
    await runSession(mine, { seed, faultTable, damages: 1 });
    for (const line of faultTable.violations.slice(printed)) console.error(line);
    printed = faultTable.violations.length;
    console.error(`${Math.round((performance.now() - startedAt) / 1000)} s, ${plan.length} faults to go`);
  }
}

await Promise.all(Array.from({ length: Number(values.lanes) }, lane));
for (let cycle = 0; cycle < Math.max(1, Math.round(kills / 50)); cycle += 1) {
  const seed = nextSeed + cycle;
  const violations = await fillDisk(seed);
  if (violations === undefined) {
    console.error("There is no small disk to be had here: no disk is full in this run.");
    break;
  }
  faultTable.add(FULL_DISK, seed, violations);
}
for (const line of faultTable.violations.slice(printed)) console.error(line);
console.log(
  faultTable.toTable([...all.map(({ name }) => name), FULL_DISK, rows.truncated, rows.flipped, rows.healed]),
);
console.log(`\n${Math.round((performance.now() - startedAt) / 1000)} s, from seed ${firstSeed} on.`);
process.exitCode = faultTable.violations.length > 0 ? 1 : 0;
