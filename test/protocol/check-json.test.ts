import fc from "fast-check";
import { expect, test } from "vitest";
import { checkJson } from "../../src/protocol/schema/check-json.ts";

/** An array nested in arrays, `levels` in all. */
function nested(levels: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < levels; level += 1) value = [value];
  return value;
}

/** An object with a number of keys. */
function wide(keys: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: keys }, (_, index) => [`k${index}`, index]));
}

test("accepts any JSON within the limits", () => {
  const safe = fc
    .jsonValue({ maxDepth: 8, stringUnit: "grapheme" })
    .filter((value) => !/"(__proto__|constructor|prototype)":|\\u0000/.test(JSON.stringify(value)));
  fc.assert(
    fc.property(safe, (value) => {
      expect(checkJson(value)).toEqual([]);
    }),
  );
});

test.each([
  ["32 levels", nested(32)],
  ["10,000 keys", { a: wide(4_999), b: wide(4_999) }],
  ["262,144 characters", "x".repeat(262_144)],
  ["an array of 100,000 numbers", Array.from({ length: 100_000 }, () => 1)],
  ["line separators, emoji and every control character but NUL", "\u2028 👩‍🚀 \u0001\r\n\t"],
])("accepts %s", (_, value) => {
  expect(checkJson(value)).toEqual([]);
});

test.each([
  ["33 levels", nested(33), Array.from({ length: 32 }, () => "0").join(".")],
  ["100,000 levels", nested(100_000), Array.from({ length: 32 }, () => "0").join(".")],
  ["10,001 keys", { a: wide(5_000), b: wide(4_999) }, "b"],
  ["a text of 262,145 characters", { a: ["x".repeat(262_145)] }, "a.0"],
])("refuses %s as too large", (_, value, path) => {
  expect(checkJson(value)).toMatchObject([{ kind: "too_large", path }]);
});

test.each(["__proto__", "constructor", "prototype"])("refuses the key %s at any position", (key) => {
  const value: unknown = JSON.parse(`{"a":[{"b":1},{${JSON.stringify(key)}:{"polluted":true}}]}`);
  expect(checkJson(value)).toMatchObject([{ kind: "invalid", path: `a.1.${key}` }]);
});

test.each([
  ["a NUL character", { a: "x\u0000y" }, "a"],
  ["half of a surrogate pair", { a: [1, "\ud800"] }, "a.1"],
  ["a key with a NUL character", { "a\u0000": 1 }, "a\u0000"],
])("reports that %s cannot be processed", (_, value, path) => {
  expect(checkJson(value)).toMatchObject([{ kind: "unprocessable", path }]);
});

test.each([
  ["Infinity, as which 1e309 is read", JSON.parse("[1e309]"), "0"],
  ["undefined", { a: undefined }, "a"],
  ["a function", [() => 1], "0"],
  ["a big integer", [1n], "0"],
  ["an object of a class", [new Date(0)], "0"],
])("refuses %s as invalid JSON", (_, value, path) => {
  expect(checkJson(value)).toMatchObject([{ kind: "invalid", path }]);
});

test("refuses a value that contains itself", () => {
  const value: Record<string, unknown> = {};
  value["self"] = value;
  expect(checkJson(value)).toMatchObject([{ kind: "too_large" }]);
});

test("reports at most 20 faults, with short paths", () => {
  const value = Array.from({ length: 1_000 }, () => ({ ["k".repeat(10_000)]: "\u0000" }));
  const issues = checkJson(value);
  expect(issues).toHaveLength(20);
  expect(issues[0]?.path.length).toBeLessThan(100);
});
