/** @module-tag long */
import { expect, test } from "vitest";
import { flood } from "./flood.ts";

/** `npm run test:webhooks` sends 10,000. The runs have more messages than a queue of requests has room for. */
const RUNS = 50;
const TURNS = 12;

test(`${RUNS * TURNS} messages arrive in order for each run, at a receiver that fails half of the time, while it and the server are killed`, async () => {
  const seen = await flood({ runs: RUNS, turns: TURNS, kills: 1, failures: 4, awayMs: 200 });
  expect(seen).toMatchObject({ messages: RUNS * TURNS, disordered: [], ledAway: 0 });
  expect(seen.attempts).toBeGreaterThan(1.5 * RUNS * TURNS);
});
