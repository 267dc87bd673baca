import { createMetrics } from "troupe/http";
import { expect, test } from "vitest";
import { createFaultLimit } from "../../src/http/metrics/metrics.ts";

test("a kind of fault is reported at most once a second, and another kind at once", () => {
  let now = 0;
  const isDue = createFaultLimit(() => now);
  expect(isDue("GET failed", new Error("1"))).toBe(true);
  now = 999;
  expect(isDue("GET failed", new Error("2"))).toBe(false);
  expect(isDue("GET failed", new TypeError("3"))).toBe(true);
  expect(isDue("POST failed", new Error("4"))).toBe(true);
  now = 1_000;
  expect(isDue("GET failed", new Error("5"))).toBe(true);
});

test("the same fault of many runs is one kind", () => {
  const isDue = createFaultLimit(() => 0);
  expect(isDue("the log refused an append to run run_1", new Error("1"))).toBe(true);
  expect(isDue("the log refused an append to run run_2", new Error("2"))).toBe(false);
  expect(isDue("code of request a failed outside any call", new Error("3"))).toBe(true);
  expect(isDue("code of request b failed outside any call", new Error("4"))).toBe(false);
});

test("metrics report and count a flood of faults as one", async () => {
  const told: unknown[] = [];
  const metrics = createMetrics({ log: (message) => told.push(message) });
  for (let time = 0; time < 20; time += 1) metrics.fault("agent order failed", new Error(`${time}`));
  expect(told).toEqual(["agent order failed"]);
  expect(await metrics.text()).toContain("troupe_faults_total 1\n");
});
