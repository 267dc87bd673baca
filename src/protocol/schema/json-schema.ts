import * as z from "zod";
import { answerSchemas } from "../answers/answers.ts";
import { configureCompletedSchema, eventSchemas } from "../events/events.ts";
import type { Json, JsonObject } from "../json.ts";
import { besideSchema, requestSchemas } from "../requests/requests.ts";

/** JSON Schemas by name. */
export type Schemas = { readonly [name: string]: JsonObject };

const REQUESTS = Object.entries<z.ZodType>(requestSchemas);

// Two events have the same name as the request that they report.
const EVENTS = Object.entries<z.ZodType>(eventSchemas).map(
  ([type, schema]) => [Object.hasOwn(requestSchemas, type) ? `${type}Event` : type, schema] as const,
);

const SINGLE = new Map<string, z.ZodType>([
  ...REQUESTS,
  ...EVENTS,
  ["ConfigureCompleted", configureCompletedSchema],
  ...Object.entries<z.ZodType>(answerSchemas),
]);

const FAMILIES = new Map([
  ["Request", REQUESTS.map(([name]) => name)],
  ["Event", EVENTS.map(([name]) => name)],
]);

/**
 * The JSON Schemas (2020-12) of all requests, events and answers, and of the unions `Request` and `Event`.
 * Each schema is self-contained. The events with the name of a request are called `CancelRequestEvent` and
 * `ResumeWithInputEvent`. A schema is generated when it is first read.
 */
export const schemas: Schemas = lazy((name) => {
  const members = FAMILIES.get(name);
  if (members === undefined) return { $schema: DIALECT, ...toJsonSchema(name) };
  const $defs = Object.fromEntries(members.map((member) => [member, toJsonSchema(member)]));
  return { $schema: DIALECT, oneOf: toRefs(members, "#/$defs/"), $defs };
});

/** The same schemas for `components.schemas` of an OpenAPI 3.1 document, with references to each other. */
export const components: Schemas = lazy((name) => {
  const members = FAMILIES.get(name);
  return members === undefined
    ? withOneKeyword(toJsonSchema(name))
    : { oneOf: toRefs(members, "#/components/schemas/") };
});

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

function lazy(make: (name: string) => JsonObject): Schemas {
  const made: { [name: string]: JsonObject } = {};
  for (const name of [...FAMILIES.keys(), ...SINGLE.keys()]) {
    Object.defineProperty(made, name, {
      enumerable: true,
      configurable: true,
      get: () => {
        const value = make(name);
        Object.defineProperty(made, name, { enumerable: true, value });
        return value;
      },
    });
  }
  return made;
}

function toJsonSchema(name: string): JsonObject {
  const schema = convert(SINGLE.get(name) ?? z.unknown());
  if (!Object.hasOwn(requestSchemas, name)) return schema;
  const properties = { ...asObject(schema["properties"]), ...asObject(convert(besideSchema)["properties"]) };
  return { ...schema, properties };
}

/** Generators of types read the fields beside an `anyOf` as one more alternative, so both become parts of an `allOf`. */
function withOneKeyword({ anyOf, description, ...fields }: JsonObject): JsonObject {
  if (anyOf === undefined) return { ...fields, ...(description !== undefined && { description }) };
  return { allOf: [fields, { anyOf }], ...(description !== undefined && { description }) };
}

function convert(schema: z.ZodType): JsonObject {
  // As input, because a reader must accept unknown fields.
  const { $schema: _, ...converted } = z.toJSONSchema(schema, { io: "input" });
  return JSON.parse(JSON.stringify(converted)) as JsonObject;
}

function asObject(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function toRefs(names: readonly string[], prefix: string): readonly JsonObject[] {
  return names.map((name) => ({ $ref: `${prefix}${name}` }));
}
