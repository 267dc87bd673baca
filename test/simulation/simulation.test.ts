import { expect, test } from "vitest";
import type { Lie } from "./disk.ts";
import { runSeeds, toReport } from "./run-seeds.ts";
import { simulate } from "./simulate.ts";

/** How many worlds are played; `npm run test:simulation` plays any number. */
const SEEDS = Number(process.env["TROUPE_SIMULATION_SEEDS"] ?? 20_000);
// Thirty times what it takes on a quiet machine.
const TIMEOUT_MS = 60_000 + SEEDS * 30;

test(
  "whatever befalls processes and their disk, no promise is broken, and all comes to its end",
  { timeout: TIMEOUT_MS },
  async () => {
    const { failures, seeds, mishaps } = await runSeeds({ from: 1, count: SEEDS, threads: 2 });
    expect(failures.map(toReport)).toEqual([]);
    expect(seeds).toBe(SEEDS);
    expect(mishaps).toBeGreaterThan(SEEDS / 2);
  },
);

test("a seed makes the same world every time", async () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const first = await simulate(seed);
    const second = await simulate(seed);
    expect(second.story()).toEqual(first.story());
  }
});

/** What each lie leads to, among other things, in the words of whoever finds it out. */
const lies: readonly (readonly [what: string, Lie, finding: RegExp])[] = [
  ["acknowledges an append before it is written", "eager", /which the log does not have|is not in the log/],
  ["acknowledges an append that it never writes", "loses", /which the log does not have|is not in the log/],
  ["lets a process that was replaced write on", "unfenced", /by an owner that it has no more/],
  ["wakes no reader", "silent", /: it has (?:no end|ended)|a reader of run \S+ has come to/],
];

test.for(lies)("it is found out when the disk %s", { timeout: TIMEOUT_MS }, async ([, lie, finding]) => {
  const found: string[] = [];
  for (let seed = 1; seed <= 300; seed += 1) found.push(...(await simulate(seed, lie)).faults);
  expect(found.join("\n")).toMatch(finding);
});
