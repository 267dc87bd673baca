import fc from "fast-check";
import { expect, test } from "vitest";
import { copyJson } from "../../src/protocol/json.ts";
import type { Json } from "../../src/protocol/json.ts";
import { json } from "./arbitrary.ts";

/** All objects and lists in a value. */
function partsOf(value: Json): readonly object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(partsOf)];
}

test("a copy is equal and shares no mutable part", () => {
  fc.assert(
    fc.property(json, (value) => {
      const copy = copyJson(value);
      expect(copy).toEqual(value);
      const parts = new Set(partsOf(value));
      expect(partsOf(copy).filter((part) => parts.has(part))).toEqual([]);
    }),
  );
});

test("a copy of a key that would set a prototype is an own key", () => {
  const copy = copyJson(JSON.parse('{"__proto__":{"admin":true}}') as Json);
  expect(JSON.stringify(copy)).toBe('{"__proto__":{"admin":true}}');
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
});
