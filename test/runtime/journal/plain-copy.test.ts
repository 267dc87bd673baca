import fc from "fast-check";
import { expect, test } from "vitest";
import { copyPlain } from "../../../src/runtime/journal/plain-copy.ts";

const LIMIT = 1_000_000;

test("a plain copy of any value is what JSON returns, or there is none", () => {
  const anything = fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSparseArray: true,
    withTypedArray: true,
  });
  fc.assert(
    fc.property(anything, (value) => {
      const copy = copyPlain(value, LIMIT);
      if (copy === undefined) return;
      const expected: unknown = JSON.parse(JSON.stringify(value));
      expect(copy).toStrictEqual(expected);
      expect(JSON.stringify(copy)).toBe(JSON.stringify(expected));
    }),
    { numRuns: 2_000 },
  );
});

test("a JSON value has a plain copy that shares nothing with it", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      fc.pre(!JSON.stringify(value).includes('"__proto__"'));
      const given = { value };
      const copy = copyPlain(given, LIMIT) as typeof given;
      expect(copy).toStrictEqual(JSON.parse(JSON.stringify(given)));
      expect(copy).not.toBe(given);
      expect(typeof value === "object" && value !== null && copy.value === value).toBe(false);
    }),
  );
});

test("a field without a value is left out, as JSON does", () => {
  const copy = copyPlain({ error: undefined, left: -0, rate: Number.NaN }, LIMIT);
  expect(copy).toStrictEqual({ left: 0, rate: null });
});

const endless: Record<string, unknown> = {};
endless["self"] = endless;

test.each([
  ["a date", new Date(0)],
  ["an object with toJSON", { toJSON: () => 1 }],
  ["a list with toJSON", Object.assign([1], { toJSON: () => 1 })],
  ["an instance of a class", new URL("http://localhost/")],
  ["a function", () => {}],
  ["a list with a function", [() => {}]],
  ["a list with a hole", [1, , 2]], // oxlint-disable-line no-sparse-arrays
  ["a large integer", 1n],
  ["the name __proto__", JSON.parse('{"__proto__":{"a":1}}')],
  ["an object that contains itself", endless],
  ["more bytes than the limit", { text: "x".repeat(LIMIT) }],
  ["more values than the limit", Array.from({ length: LIMIT }, () => [])],
  [
    "a getter that throws",
    {
      get value(): never {
        throw new Error("unreadable");
      },
    },
  ],
])("JSON itself converts or refuses %s", (_, value: unknown) => {
  expect(copyPlain({ value }, LIMIT)).toBeUndefined();
});
