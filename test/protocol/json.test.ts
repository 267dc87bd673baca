import fc from "fast-check";
import { expect, test } from "vitest";
import { copyJson, canonical } from "../../src/protocol/json.ts";
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

/** The same value with the keys of every object reversed. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, field]) => [key, reversed(field)]);
  return Object.fromEntries(entries.toReversed()) as unknown;
}

test("is the same text for any order of keys", () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(canonical(reversed(value))).toBe(canonical(value));
    }),
  );
});

test("is JSON of the same value", () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(JSON.parse(canonical(value))).toEqual(value);
    }),
  );
});

test("omits undefined, like JSON", () => {
  expect(canonical({ b: [undefined], a: undefined, c: { d: undefined } })).toBe('{"b":[null],"c":{}}');
});
