import { expect, test } from "vitest";
import { validateValue } from "../../src/client/description/validate-value.ts";

const schema = {
  type: "object",
  properties: {
    to: { type: "string", minLength: 1 },
    amount: { type: "number", exclusiveMinimum: 0 },
    tags: { type: "array", items: { enum: ["a", "b"] }, maxItems: 2 },
    when: { anyOf: [{ type: "null" }, { type: "integer", minimum: 5 }] },
  },
  required: ["to", "amount"],
  additionalProperties: false,
};

test("a value that fits has no issues", () => {
  expect(validateValue(schema, { to: "bob", amount: 3, tags: ["a"], when: 7 })).toEqual([]);
});

test.each([
  ["text", "", "must be object"],
  [{ amount: 1 }, "to", "is required"],
  [{ to: "", amount: 1 }, "to", "must not be shorter than 1"],
  [{ to: "bob", amount: 0 }, "amount", "must be more than 0"],
  [{ to: "bob", amount: "3" }, "amount", "must be number"],
  [{ to: "bob", amount: 1, tags: ["a", "c"] }, "tags.1", 'must be one of "a", "b"'],
  [{ to: "bob", amount: 1, tags: ["a", "a", "a"] }, "tags", "must not be longer than 2"],
  [{ to: "bob", amount: 1, when: 4 }, "when", "matches none of the allowed schemas"],
  [{ to: "bob", amount: 1, else: 1 }, "else", "is unknown"],
])("%j gets its issues", (value, path, message) => {
  expect(validateValue(schema, value)).toEqual([{ path, message }]);
});

test("a schema cannot do harm: patterns are not run, references are not followed, and the depth is limited", () => {
  const pattern = { type: "string", pattern: "^(a+)+$" };
  expect(validateValue(pattern, `${"a".repeat(50_000)}b`)).toEqual([]);
  expect(validateValue({ $ref: "#" }, 1)).toEqual([]);
  let deep: object = { type: "string" };
  for (let level = 0; level < 10_000; level += 1) deep = { allOf: [deep] };
  expect(validateValue(deep, 1)).toEqual([]);
});

test.each([null, 1, "x", [], true])("%j is not a schema and forbids nothing", (nonsense) => {
  expect(validateValue(nonsense, { any: "thing" })).toEqual([]);
});

test.each([
  ["characters, not code units", { maxLength: 1 }, "😀"],
  ["equal objects with keys in another order", { enum: [{ a: 1, b: 2 }] }, { b: 2, a: 1 }],
  [
    "keys that a pattern allows",
    { patternProperties: { "^x-": {} }, additionalProperties: false },
    { "x-a": 1 },
  ],
  [
    "the items of a tuple, and those after them",
    { prefixItems: [{ type: "string" }], items: { type: "number" } },
    ["a", 1],
  ],
])("what JSON Schema allows is allowed: %s", (_, rule, value) => {
  expect(validateValue(rule, value)).toEqual([]);
});

test("each item of a tuple is checked", () => {
  const tuple = { prefixItems: [{ type: "string" }], items: { type: "number" } };
  expect(validateValue(tuple, [1, "a"])).toEqual([
    { path: "0", message: "must be string" },
    { path: "1", message: "must be number" },
  ]);
});
