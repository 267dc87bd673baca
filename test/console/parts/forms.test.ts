import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { emptyDraft, readDraft, toDraft } from "../../../src/console/forms/draft.ts";
import { yesNoKey } from "../../../src/console/forms/question.ts";
import { toLimits, toShape } from "../../../src/console/forms/shape.ts";

describe("what a form draws for a schema", () => {
  const kind = (schema: unknown): string => toShape(schema, schema).kind;

  test("a field for each kind of value", () => {
    expect(kind({ type: "string" })).toBe("text");
    expect(kind({ type: "integer" })).toBe("number");
    expect(kind({ type: "boolean" })).toBe("boolean");
    expect(kind({ enum: ["a", 1, null] })).toBe("choice");
    expect(kind({ const: 3 })).toBe("choice");
    expect(kind({ type: "array", items: { type: "string" } })).toBe("list");
    expect(kind({ type: "object", properties: { a: {} } })).toBe("object");
    expect(kind({ anyOf: [{ type: "string" }, { type: "number" }] })).toBe("variants");
    expect(kind({ type: ["string", "null"] })).toBe("variants");
    expect(kind({ anyOf: [{ const: "a" }, { const: "b" }, { type: "null" }] })).toBe("choice");
    expect(kind({})).toBe("any");
  });

  test("JSON for what no field fits", () => {
    expect(kind({ type: "object", additionalProperties: { type: "string" } })).toBe("json");
    expect(kind({ not: { type: "string" } })).toBe("json");
    expect(kind({ $ref: "https://elsewhere.test/schema" })).toBe("json");
    expect(kind({ $ref: "#" })).toBe("json");
  });

  test("references and allOf are followed, also those of a schema that refers to itself", () => {
    const node = z.object({
      name: z.string(),
      get next() {
        return node.optional();
      },
    });
    const schema = z.toJSONSchema(node);
    const draft = emptyDraft(schema, schema);
    expect(readDraft(schema, schema, draft).faults).toEqual([{ path: "name", message: "is required" }]);
    const value = { name: "a", next: { name: "b", next: { name: "c" } } };
    expect(readDraft(schema, schema, toDraft(schema, schema, value))).toEqual({ value, faults: [] });
    const both = {
      allOf: [{ properties: { a: { type: "string" } }, required: ["a"] }, { properties: { b: {} } }],
    };
    expect(toShape(both, both)).toMatchObject({ fields: [{ key: "a", isRequired: true }, { key: "b" }] });
  });

  test("a field of several lines for a text that may be long, and for one with a media type", () => {
    const isLong = (more: object): unknown => toShape({ type: "string", ...more }, {});
    expect(isLong({ maxLength: 20 })).toMatchObject({ isLong: false });
    expect(isLong({ maxLength: 2_000 })).toMatchObject({ isLong: true });
    expect(isLong({ contentMediaType: "text/plain" })).toMatchObject({ isLong: true });
  });

  test("limits are said in words", () => {
    const schema = z.toJSONSchema(z.number().positive().max(10));
    expect(toLimits(schema, schema)).toBe("> 0, ≤ 10");
  });
});

describe("what a form says", () => {
  const schema = z.toJSONSchema(
    z.object({
      text: z.string(),
      count: z.int(),
      sure: z.boolean(),
      colour: z.enum(["red", "green"]),
      items: z.array(z.object({ id: z.number() })),
      either: z.union([z.string(), z.number()]),
      note: z.string().optional(),
      place: z.object({ street: z.string() }).optional(),
    }),
    { io: "input" },
  );
  const values = fc.record(
    {
      text: fc.string(),
      count: fc.integer(),
      sure: fc.boolean(),
      colour: fc.constantFrom("red", "green"),
      items: fc.array(fc.record({ id: fc.integer() })),
      either: fc.oneof(fc.string(), fc.integer()),
      note: fc.string({ minLength: 1 }),
      place: fc.record({ street: fc.string() }),
    },
    { requiredKeys: ["text", "count", "sure", "colour", "items", "either"] },
  );

  test("every value that is put into a form is read out of it again", () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(readDraft(schema, schema, toDraft(schema, schema, value))).toEqual({ value, faults: [] });
      }),
    );
  });

  test("a field that is not filled, or not with its kind of value, is named by its path", () => {
    const draft = toDraft(schema, schema, { text: "a", items: [{ id: "one" }] });
    const { faults } = readDraft(schema, schema, draft);
    expect(faults).toContainEqual({ path: "count", message: "is required" });
    expect(faults).toContainEqual({ path: "items.0.id", message: "is not a number" });
    expect(faults.some(({ path }) => path === "note" || path === "place")).toBe(false);
  });

  test("defaults are filled in", () => {
    const withDefault = { type: "object", properties: { size: { type: "number", default: 3 } } };
    expect(readDraft(withDefault, withDefault, emptyDraft(withDefault, withDefault)).value).toEqual({
      size: 3,
    });
  });

  test("a value without a schema is JSON, or else a text", () => {
    expect(readDraft({}, {}, '{"a":1}').value).toEqual({ a: 1 });
    expect(readDraft({}, {}, "a text").value).toBe("a text");
  });

  test("a number is never sent as another one", () => {
    const account = "12345678901234567890";
    const integer = { type: "integer" };
    expect(readDraft(integer, integer, account).faults).toHaveLength(1);
    expect(readDraft(integer, integer, "9007199254740991").value).toBe(Number.MAX_SAFE_INTEGER);
    expect(readDraft({}, {}, account).value).toBe(account);
    expect(readDraft({}, {}, "1e999").value).toBe("1e999");
    expect(readDraft({}, {}, "1e3").value).toBe(1_000);
  });

  test("a text that reads like JSON stays a text", () => {
    for (const value of ["123", "true", '{"a":1}', '"', ""])
      expect(readDraft({}, {}, toDraft({}, {}, value)).value).toBe(value);
  });

  test("a value of a union is put into the variant that it fits", () => {
    const union = z.toJSONSchema(
      z.union([
        z.object({ by: z.literal("card"), number: z.string() }),
        z.object({ by: z.literal("bill"), address: z.string() }),
      ]),
    );
    const value = { by: "bill", address: "here" };
    expect(readDraft(union, union, toDraft(union, union, value))).toEqual({ value, faults: [] });
  });
});

test("a question for one boolean is answered by Yes or No", () => {
  expect(yesNoKey({ type: "object", properties: { approved: { type: "boolean" } } })).toBe("approved");
  expect(yesNoKey({ type: "object", properties: { a: { type: "boolean" }, b: {} } })).toBeUndefined();
});
