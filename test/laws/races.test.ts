import { expect, test } from "vitest";
import { simulateRaces } from "./races.ts";
import { runsLong } from "../machine/long.ts";

/** The number of turns, each of ten races; `npm run test:life -- --only races` makes 1,000, on both logs. */
const SEEDS = Number(process.env["TROUPE_LAW_SEEDS"] ?? (runsLong ? 40 : 6));
const FROM = Number(process.env["TROUPE_LAW_FROM"] ?? 1);
const seeds = Array.from({ length: SEEDS }, (_, index) => FROM + index);

test("each message goes to one reader, in order, whatever it races with", { timeout: 120_000 }, async () => {
  const faults: string[] = [];
  for (const seed of seeds) {
    faults.push(...(await simulateRaces({ seed, races: 10 })).faults);
    faults.push(...(await simulateRaces({ seed, races: 10, passive: true })).faults);
  }
  expect(faults).toEqual([]);
});

test(
  "each message goes to one reader, whichever commit the process dies at",
  { tags: "long", timeout: 120_000 },
  async () => {
    const faults: string[] = [];
    for (const seed of seeds.slice(0, Math.ceil(SEEDS / 20))) {
      const { commits } = await simulateRaces({ seed, races: 6 });
      for (let commit = 1; commit <= commits; commit += 1)
        for (const written of [false, true]) {
          const commitFaults = [{ commit, kind: "crash", written }] as const;
          faults.push(...(await simulateRaces({ seed, races: 6, commitFaults })).faults);
        }
    }
    expect(faults).toEqual([]);
  },
);
