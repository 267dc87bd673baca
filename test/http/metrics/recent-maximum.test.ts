import { expect, test } from "vitest";
import { RecentMaximum } from "../../../src/http/metrics/recent-maximum.ts";

test("the greatest value is seen by all who read it, for at least a minute, and forgotten after two", () => {
  let now = 0;
  const maximum = new RecentMaximum(() => now);
  expect(maximum.value).toBe(0);
  now = 50_000;
  maximum.note(7);
  maximum.note(3);
  expect([maximum.value, maximum.value]).toEqual([7, 7]);
  now = 110_000;
  maximum.note(2);
  expect(maximum.value).toBe(7);
  now = 120_000;
  expect(maximum.value).toBe(2);
  now = 1_000_000;
  expect(maximum.value).toBe(0);
});
