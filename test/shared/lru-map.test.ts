import { expect, test } from "vitest";
import { LruMap } from "../../src/shared/lru-map.ts";

test("a new key removes the one that was set least recently", () => {
  const map = new LruMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.set("a", 3);
  map.set("c", 4);
  expect([map.get("a"), map.get("b"), map.get("c"), map.size]).toEqual([3, undefined, 4, 2]);
});

test("a removed key makes room", () => {
  const map = new LruMap<string | undefined, number>(2);
  map.set(undefined, 1);
  map.set("b", 2);
  expect([map.delete("b"), map.delete("b")]).toEqual([true, false]);
  map.set("c", 3);
  expect([map.get(undefined), map.get("c")]).toEqual([1, 3]);
  map.set("d", 4);
  expect(map.get(undefined)).toBeUndefined();
});
