import { expect, test } from "vitest";
import { RecentMap } from "../../../src/runtime/queries/recent-map.ts";

test("it keeps at least the newest half of its size, and never more than its size", () => {
  const map = new RecentMap<number, string>(10);
  for (let key = 1; key <= 1_000; key += 1) {
    map.set(key, `value ${key}`);
    const kept = Array.from({ length: key }, (_, index) => index + 1).filter((k) => map.get(k) !== undefined);
    expect(kept.length).toBeLessThanOrEqual(10);
    expect(kept.slice(-5)).toEqual(
      Array.from({ length: Math.min(key, 5) }, (_, i) => key - Math.min(key, 5) + 1 + i),
    );
  }
});

test("it deletes the entries that pass a test from both generations", () => {
  const map = new RecentMap<number, { readonly even: boolean }>(10);
  for (let key = 1; key <= 8; key += 1) map.set(key, { even: key % 2 === 0 });
  map.deleteWhere(({ even }) => even);
  expect([1, 2, 3, 4, 5, 6, 7, 8].filter((key) => map.get(key) !== undefined)).toEqual([1, 3, 5, 7]);
});
