import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Schema } from "../../runtime/agent/agent.ts";
import { handwrittenSchema } from "../../runtime/agent/definition/handwritten-schema.ts";

/** Describes what is wrong with a value; `undefined` if it is valid. */
export type Check = (value: unknown) => string | undefined | Promise<string | undefined>;

/** A schema from a JSON Schema and a function that validates values. */
export function rawSchema(jsonSchema: JsonObject, check: Check = () => undefined): Schema<Json> {
  return handwrittenSchema(async (value) => {
    const message = await check(value);
    return message === undefined ? { value: value as Json } : { issues: [{ message }] };
  }, jsonSchema);
}
