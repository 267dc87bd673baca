/** @module-tag long */
import { expect, test } from "vitest";
import { runSagas } from "./sagas.ts";

/** `npm run test:life -- --only sagas` dies at every commit. */
const EVERY = Number(process.env["TROUPE_SAGA_EVERY"] ?? 23);

test(
  "what a saga of five steps has booked is undone once, wherever it ends and its process dies",
  { timeout: 600_000 },
  async () => {
    const { faults, deaths } = await runSagas(EVERY);
    expect(faults).toEqual([]);
    expect(deaths).toBeGreaterThan(20);
  },
);
