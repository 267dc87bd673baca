import { expect, test } from "vitest";
import { runSupervised } from "./supervised.ts";

/** `npm run test:life -- --only supervised` runs more programs, and dies at every commit. */
const EVERY = Number(process.env["TROUPE_SUPERVISED_EVERY"] ?? 11);
const PROGRAMS = Number(process.env["TROUPE_SUPERVISED_PROGRAMS"] ?? 12);

test(
  "what fails is tried as often as its supervisor says and once each, whichever commit the process dies at",
  { timeout: 600_000 },
  async () => {
    const { faults, deaths } = await runSupervised(PROGRAMS, EVERY);
    expect(faults).toEqual([]);
    expect(deaths).toBeGreaterThan(50);
  },
);
