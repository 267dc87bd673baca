import fc from "fast-check";
import { expect, test } from "vitest";
import { canonical } from "../../src/protocol/requests/canonical.ts";
import { json } from "./arbitrary.ts";

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
