import { expect, test } from "vitest";
import type { Lie } from "./processes/disk.ts";
import { runSeeds, toReport } from "./run-seeds.ts";
import { simulate } from "./simulate.ts";
import { runsLong, shortened } from "../machine/long.ts";

/** The number of simulations; `npm run test:simulation` runs any number. */
const SEEDS = Number(process.env["TROUPE_SIMULATION_SEEDS"] ?? (runsLong ? 500 : 10));
// A hundred times the duration on a quiet machine.
const TIMEOUT_MS = 120_000 + SEEDS * 100;

test(
  "no fault of processes and their disk violates an invariant, and every simulation ends",
  { timeout: TIMEOUT_MS },
  async () => {
    const { failures, seeds, injectedFaults } = await runSeeds({ from: 1, count: SEEDS, threads: 2 });
    expect(failures.map((failure) => toReport(failure))).toEqual([]);
    expect(seeds).toBe(SEEDS);
    expect(injectedFaults).toBeGreaterThan(SEEDS / 2);
  },
);

test(
  "no fault of several nodes and the network between them violates an invariant",
  { tags: "long", timeout: TIMEOUT_MS },
  async () => {
    const count = Math.ceil(SEEDS / 10);
    const { failures, injectedFaults } = await runSeeds({ from: 1, count, threads: 2, nodes: true });
    expect(failures.map((failure) => toReport(failure, true))).toEqual([]);
    expect(injectedFaults).toBeGreaterThan(count / 2);
  },
);

test.each([
  // A run is loaded while the log cannot be written, and another node takes it before it is continued.
  60_243_213,
  // With schedules, a turn waits until a full minute.
  60_019_827,
  // Two asks are sent together, and their actor is renewed between them.
  524,
])("seed %i, which found a fault, ends without one", { tags: "long" }, async (seed) => {
  expect((await simulate(seed, { nodes: true })).faults).toEqual([]);
});

test("a seed gives the same simulation every time", async () => {
  for (let seed = 1; seed <= (runsLong ? 20 : 2); seed += 1) {
    const first = await simulate(seed);
    const second = await simulate(seed);
    expect(second.trace()).toEqual(first.trace());
  }
  expect((await simulate(1, { nodes: true })).trace()).toEqual((await simulate(1, { nodes: true })).trace());
});

/** One of the violations that each disk fault causes, as the checks report it. */
const lies: readonly (readonly [what: string, Lie, finding: RegExp])[] = [
  ["acknowledges an append before it is written", "eager", /which the log does not have|is not in the log/],
  ["acknowledges an append that it never writes", "loses", /which the log does not have|is not in the log/],
  ["lets a process that was replaced write on", "unfenced", /by an owner that it has no more/],
  ["does not list what is to be delivered to other actors", "forgetful", /is still in the outbox of/],
  ["wakes no reader", "silent", /: it has (?:no end|ended)|a reader of run \S+ is at/],
];

test.for(shortened(lies, 1))(
  "the checks detect that the disk %s",
  { timeout: TIMEOUT_MS },
  async ([, lie, finding]) => {
    const found: string[] = [];
    for (let seed = 1; seed <= 300 && !finding.test(found.join("\n")); seed += 1)
      found.push(...(await simulate(seed, { lie })).faults);
    expect(found.join("\n")).toMatch(finding);
  },
);

test.for(lies.slice(0, 2))(
  "with several nodes, the checks detect that the disk %s",
  { tags: "long", timeout: TIMEOUT_MS },
  async ([, lie]) => {
    const found: string[] = [];
    for (let seed = 1; seed <= 40; seed += 1)
      found.push(...(await simulate(seed, { lie, nodes: true })).faults);
    expect(found.length).toBeGreaterThan(20);
  },
);
