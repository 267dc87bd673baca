import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import type { Json, JsonObject } from "troupe/protocol";
import { describe, expect, test } from "vitest";
import { clientSchema } from "../../src/llm/prompt/client-schema.ts";

function issuesOf(schema: JsonObject, value: Json): readonly string[] {
  const result = clientSchema(schema)["~standard"].validate(value);
  if (result instanceof Promise) throw new Error("the check is not synchronous");
  return (result.issues ?? []).map(({ path = [], message }) => `${path.map(String).join(".")}: ${message}`);
}

const person = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 2 },
    age: { type: ["integer", "null"], minimum: 0 },
    tags: { type: "array", items: { $ref: "#/$defs/tag" }, maxItems: 2 },
  },
  required: ["name", "id"],
  additionalProperties: false,
  $defs: { tag: { enum: ["a", "b"] } },
};

describe("a JSON Schema of a client", () => {
  test.each<[Json, readonly string[]]>([
    [{ name: "Ada", id: 1, age: null, tags: ["a"] }, []],
    [{ name: "Ada" }, ["id"]],
    [{ name: "A", id: 1 }, ["name"]],
    [{ name: "Ada", id: 1, age: 1.5 }, ["age"]],
    [{ name: "Ada", id: 1, age: -1 }, ["age"]],
    [{ name: "Ada", id: 1, tags: ["c"] }, ["tags.0"]],
    [{ name: "Ada", id: 1, tags: ["a", "b", "a"] }, ["tags"]],
    [{ name: "Ada", id: 1, more: 1 }, [""]],
    ["Ada", [""]],
  ])("checks %j", (value, places) => {
    expect(issuesOf(person, value).map((issue) => issue.split(":")[0])).toEqual(places);
  });

  test("refuses nothing that it allows", { tags: "long" }, () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const value = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.constantFrom<Json>(null, true, 0, 1.5, -3, "", "ab", "😀😀"),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value"), { maxKeys: 3 }),
      ),
    })).value;
    const type = fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object");
    const schema = fc.letrec<{ schema: Json; keyword: readonly [string, Json] }>((tie) => {
      const some = fc.array(tie("schema"), { minLength: 1, maxLength: 2 });
      const keywords: { readonly [keyword: string]: fc.Arbitrary<Json> } = {
        type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
        properties: fc.dictionary(fc.constantFrom("a", "b"), tie("schema"), { maxKeys: 2 }),
        required: fc.uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 2 }),
        additionalProperties: tie("schema"),
        patternProperties: fc.constant({ "^c": true }),
        items: tie("schema"),
        prefixItems: some,
        minItems: fc.nat(2),
        maxLength: fc.nat(3),
        minimum: fc.integer({ min: -2, max: 2 }),
        enum: fc.uniqueArray(fc.constantFrom<Json>(null, 1, "ab", true), { minLength: 1, maxLength: 3 }),
        const: value,
        anyOf: some,
        oneOf: some,
        allOf: some,
        not: tie("schema"),
        if: tie("schema"),
        then: tie("schema"),
        pattern: fc.constant("^a"),
        default: value,
        $ref: fc.constant("#/$defs/shared"),
      };
      return {
        keyword: fc.oneof(
          ...Object.entries(keywords).map(([name, values]) => values.map((given) => [name, given] as const)),
        ),
        schema: fc.oneof(
          { depthSize: "small" },
          fc.boolean(),
          fc.array(tie("keyword"), { maxLength: 3 }).map((entries) => Object.fromEntries(entries)),
        ),
      };
    }).schema;
    let allowed = 0;
    fc.assert(
      fc.property(schema, schema, value, (given, shared, drawn) => {
        if (typeof given !== "object") return true;
        const one = structuredClone({ ...(given as JsonObject), $defs: { shared } }) as JsonObject;
        const checked = structuredClone(drawn);
        let isAllowed: boolean;
        try {
          isAllowed = ajv.validate(one, checked);
        } catch {
          // A reference that never ends. It must still be checked without an error.
          issuesOf(one, checked);
          return true;
        }
        if (isAllowed) allowed += 1;
        const issues = issuesOf(one, checked);
        return !isAllowed || issues.length === 0;
      }),
      { numRuns: 1_000 },
    );
    expect(allowed).toBeGreaterThan(100);
  });

  test("takes no time that a client chooses", () => {
    const double = (count: number): JsonObject => ({
      $defs: Object.fromEntries(
        Array.from({ length: count }, (_, index) => {
          const next = { $ref: `#/$defs/d${index + 1}` };
          return [`d${index}`, { anyOf: [next, next, { type: "null" }] }];
        }),
      ),
      anyOf: [{ $ref: "#/$defs/d0" }],
    });
    const nested = {
      type: "array",
      items: { $ref: "#" },
      anyOf: [{ items: { $ref: "#" } }, { items: { $ref: "#" } }],
    };
    const deep = Array.from({ length: 30 }).reduce<Json>((inner) => [inner, inner].slice(1), "x");
    // Each would take years if the parts, or the pattern, were followed to their end.
    expect(issuesOf(double(60), "x")).toEqual([]);
    expect(issuesOf(nested, deep)).toEqual([]);
    expect(issuesOf({ type: "string", pattern: "^(a+)+$" }, `${"a".repeat(40)}!`)).toEqual([]);
  });
});
