import * as z from "zod";
import { answerSchemas } from "./answer-schemas.ts";
import { configureCompletedSchema, eventSchemas } from "./event-schemas.ts";
import type { Json, JsonObject } from "./json.ts";
import { besideSchema, requestSchemas } from "./request-schemas.ts";

/** JSON Schemas by name. */
export type Schemas = { readonly [name: string]: JsonObject };

const REQUESTS = Object.entries<z.ZodType>(requestSchemas);

// Two events have their name in common with the request that they tell of.
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
 * The JSON Schemas (2020-12) of all requests, events and answers, and of `Request` and `Event`, which
 * stand for any of theirs. Each is complete by itself. The events that tell of a request of the same name
 * are called `CancelRequestEvent` and `ResumeWithInputEvent`. A schema is made when it is first read.
 */
export const schemas: Schemas = lazy((name) => {
  const members = FAMILIES.get(name);
  if (members === undefined) return { $schema: DIALECT, ...toJsonSchema(name) };
  const $defs = Object.fromEntries(members.map((member) => [member, toJsonSchema(member)]));
  return { $schema: DIALECT, oneOf: toRefs(members, "#/$defs/"), $defs };
});

/** The same schemas as an OpenAPI 3.1 document has them under `components.schemas`, referring to each other. */
export const components: Schemas = lazy((name) => {
  const members = FAMILIES.get(name);
  return members === undefined ? toJsonSchema(name) : { oneOf: toRefs(members, "#/components/schemas/") };
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

function convert(schema: z.ZodType): JsonObject {
  // As input: what a reader may meet, so fields that are not known to it are no fault.
  const { $schema: _, ...converted } = z.toJSONSchema(schema, { io: "input" });
  return JSON.parse(JSON.stringify(converted)) as JsonObject;
}

function asObject(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function toRefs(names: readonly string[], prefix: string): readonly JsonObject[] {
  return names.map((name) => ({ $ref: `${prefix}${name}` }));
}
