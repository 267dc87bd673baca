import { expect, test } from "vitest";
import { backoffMs } from "../../src/shared/backoff.ts";

test("each pause is twice the one before, up to the longest", () => {
  const pauses = [0, 1, 2, 3, 4, 5].map((failures) => backoffMs({ firstMs: 20, mostMs: 500 }, failures));
  expect(pauses).toEqual([20, 40, 80, 160, 320, 500]);
});

test("after any number of failures the pause is a number", () => {
  expect(backoffMs({ firstMs: 20, mostMs: 500 }, 1e9)).toBe(500);
  expect(backoffMs({ firstMs: 0, mostMs: 500 }, 1e9)).toBe(0);
  expect(backoffMs({ firstMs: 1 }, 1e9)).toBe(2 ** 50);
});

test("a random number gives a pause between its half and its whole", () => {
  const backoff = { firstMs: 100, mostMs: 1_000 };
  expect([0, 0.5, 1].map((random) => backoffMs(backoff, 2, random))).toEqual([200, 300, 400]);
  expect(backoffMs(backoff, 9, 0)).toBe(500);
});
