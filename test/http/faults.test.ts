import { expect, test } from "vitest";
import { createFaultReporter } from "../../src/http/faults.ts";

test("a kind of fault is told at most once a second, and another kind at once", () => {
  const told: unknown[] = [];
  let now = 0;
  const report = createFaultReporter({ fault: (_, detail) => told.push(detail) }, () => now);
  const [first, second, other, later] = [new Error("1"), new Error("2"), new TypeError("3"), new Error("4")];
  report("GET failed", first);
  now = 999;
  report("GET failed", second);
  report("GET failed", other);
  now = 1_000;
  report("GET failed", later);
  expect(told).toEqual([first, other, later]);
});
