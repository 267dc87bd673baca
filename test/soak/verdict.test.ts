import { expect, test } from "vitest";
import { createRandom } from "../../src/testing/event-log/random.ts";
import { judge } from "./verdict.ts";

/** Values that swing around a function of their place. */
function series(at: (index: number) => number, swing: number, length = 3_600): readonly number[] {
  const random = createRandom(7);
  return Array.from({ length }, (_, index) => at(index) + (random.below(2_001) / 1_000 - 1) * swing);
}

const isFlat = (values: readonly number[], least = 10): boolean =>
  judge({ name: "memory", unit: "MB", values, least }).isFlat;

test("what only swings is flat, also with peaks, a warm-up, and the teeth of a garbage collector", () => {
  expect(isFlat(series(() => 200, 30))).toBe(true);
  expect(isFlat(series((index) => (index % 300 === 0 ? 2_000 : 200), 5))).toBe(true);
  expect(isFlat(series((index) => 200 + Math.min(index, 1_000) / 5, 5))).toBe(true);
  expect(isFlat(series((index) => 200 + (index % 97), 2))).toBe(true);
  expect(isFlat(series((index) => 400 - index / 100, 5))).toBe(true);
});

test("a leak is not flat: a steady one, one under teeth, one in steps, and one that begins late", () => {
  expect(isFlat(series((index) => 200 + index / 60, 5))).toBe(false);
  expect(isFlat(series((index) => 200 + (index % 97) / 3 + index / 10, 2))).toBe(false);
  expect(isFlat(series((index) => 200 + 20 * Math.floor(index / 400), 5))).toBe(false);
  expect(isFlat(series((index) => 200 + Math.max(0, index - 1_800) / 10, 3))).toBe(false);
  expect(
    isFlat(
      series((index) => 20 + index / 40, 0, 60),
      0.5,
    ),
  ).toBe(false);
});

test("of a heap what a collection leaves counts", () => {
  const heap = (leak: number): boolean =>
    judge({
      name: "heap",
      unit: "MB",
      values: series((index) => 50 + (index % 31) * 3 + (index / 3_600) * leak, 1),
      least: 10,
      hasTeeth: true,
    }).isFlat;
  expect(heap(0)).toBe(true);
  expect(heap(100)).toBe(false);
});

test("a growth that means nothing is flat, and too few values say nothing", () => {
  expect(
    isFlat(
      series((index) => 200 + index / 360, 0),
      10,
    ),
  ).toBe(true);
  expect(isFlat(series(() => 200, 1, 12))).toBe(false);
  expect(isFlat([])).toBe(false);
});

test("a verdict says by how much a series has grown after its warm-up", () => {
  const { growth, middle } = judge({
    name: "heap",
    unit: "MB",
    values: series((index) => index, 0, 300),
    least: 0,
  });
  expect(Math.round(growth)).toBeGreaterThan(190);
  expect(Math.round(growth)).toBeLessThan(201);
  expect(Math.round(middle)).toBeGreaterThan(195);
});
