import type { StandardSchemaV1 } from "@standard-schema/spec";
import { isObject } from "../../../protocol/json.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { Schema } from "../agent.ts";

/** Validates a value, and may convert it. */
export type Validate<Value> = (
  value: unknown,
) => StandardSchemaV1.Result<Value> | Promise<StandardSchemaV1.Result<Value>>;

/** A schema from a function, for code that needs no schema library. Its JSON Schema is optional. */
export function handwrittenSchema<Value, Given = unknown>(
  validate: Validate<Value>,
  jsonSchema?: JsonObject,
): Schema<Value, Given> {
  const standard = {
    version: 1 as const,
    vendor: "troupe",
    validate,
    ...(jsonSchema && { jsonSchema: { input: () => jsonSchema, output: () => jsonSchema } }),
  };
  return { "~standard": standard };
}

/** A schema that accepts every object. */
export const anyObject: Schema<JsonObject, JsonObject> = handwrittenSchema(
  (value) =>
    isObject(value)
      ? { value: value as JsonObject }
      : { issues: [{ message: "must be an object", path: [] }] },
  { type: "object" },
);

/** A schema that accepts every value and has no JSON Schema. */
export const anyValue: Schema<unknown> = handwrittenSchema((value) => ({ value }));
