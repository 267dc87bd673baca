import { expect, test } from "vitest";
import { runSchedules } from "./schedules.ts";
import { runsLong } from "../machine/long.ts";

/** `npm run test:life -- --only schedules` runs more programs, and dies at every commit. */
const PROGRAMS = runsLong ? 3 : 1;
const EVERY = runsLong ? 41 : 163;

test(
  "schedules that are made, changed, paused and removed ring once at each of their times, whichever commit the process dies at",
  { timeout: 600_000 },
  async () => {
    const { faults, deaths } = await runSchedules(PROGRAMS, EVERY);
    expect(faults).toEqual([]);
    expect(deaths).toBeGreaterThan(runsLong ? 10 : 1);
  },
);
