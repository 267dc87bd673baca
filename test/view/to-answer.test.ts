import { expect, test } from "vitest";
import { z } from "zod";
import { toAnswer, toQuestion } from "../../src/view/to-answer.ts";
import type { JsonObject } from "../../src/protocol/json.ts";

const schemaOf = (value: z.ZodType): JsonObject =>
  z.toJSONSchema(z.object({ value })) as unknown as JsonObject;

test.each([
  ["yes", z.boolean(), true],
  [" Y ", z.boolean(), true],
  ["TRUE", z.boolean(), true],
  ["no", z.boolean(), false],
  ["n", z.boolean(), false],
  ["false", z.boolean(), false],
  ["perhaps", z.boolean(), "perhaps"],
  ["3", z.int(), 3],
  ["-1.5e2", z.number(), -150],
  ["", z.number(), ""],
  ["three", z.number(), "three"],
  ["3", z.string(), "3"],
  ["yes", z.string(), "yes"],
  ["yes", z.union([z.boolean(), z.string()]), "yes"],
  ["7", z.nullable(z.number()), 7],
  ["null", z.nullable(z.number()), null],
  ["2", z.union([z.literal(1), z.literal(2)]), 2],
  ["[1, 2]", z.array(z.number()), [1, 2]],
  ['{"a":1}', z.object({ a: z.number() }), { a: 1 }],
])("%j for %s is read as the schema asks", (text, schema, value) => {
  expect(toAnswer({ questions: { value: "?" }, schema: schemaOf(schema) }, text)).toEqual({ value });
});

test("without a schema, and for a schema of any kind, an answer is a text", () => {
  expect(toAnswer({ questions: { name: "?" } }, "yes")).toEqual({ name: "yes" });
  const odd = { properties: { name: true }, type: "object" };
  expect(toAnswer({ questions: { name: "?" }, schema: odd }, "3")).toEqual({ name: "3" });
});

test("several keys take a JSON object of them, and no other text", () => {
  const wait = { questions: { name: "Your name?", town: "Your town?" } };
  expect(toAnswer(wait, '{"name":"Ada","town":"Rome"}')).toEqual({ name: "Ada", town: "Rome" });
  expect(() => toAnswer(wait, "Ada")).toThrow("the question has the keys name, town");
  expect(toQuestion(wait)).toBe("name: Your name?\ntown: Your town?");
  expect(toQuestion({ questions: { name: "Your name?" } })).toBe("Your name?");
  expect(toQuestion({ questions: { name: "" } })).toBe("name");
});

test.each([
  ["a value of the only key", { questions: { q: "?" } }, (deep: string) => `{"q":${deep}}`],
  ["a list", { questions: { value: "?" }, schema: schemaOf(z.array(z.unknown())) }, (deep: string) => deep],
  [
    "an object",
    { questions: { value: "?" }, schema: schemaOf(z.record(z.string(), z.unknown())) },
    (deep: string) => `{"a":${deep}}`,
  ],
])("JSON that is nested deeper than a body may be is refused: %s", (_, wait, toText) => {
  for (const depth of [40, 9_000]) {
    const text = toText("[".repeat(depth) + "]".repeat(depth));
    expect(() => toAnswer(wait, text)).toThrow(expect.objectContaining({ code: "unprocessable" }));
  }
});
