import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Schema } from "../../runtime/agent/agent.ts";

/** What is wrong with a value, in words; `undefined` when it fits. */
export type Check = (value: unknown) => string | undefined | Promise<string | undefined>;

/** A schema that is there as JSON Schema only, with whatever can check values against it. */
export function rawSchema(jsonSchema: JsonObject, check: Check = () => undefined): Schema<Json> {
  const standard = {
    version: 1 as const,
    vendor: "troupe",
    validate: async (value: unknown) => {
      const message = await check(value);
      return message === undefined ? { value: value as Json } : { issues: [{ message }] };
    },
    jsonSchema: { input: () => jsonSchema, output: () => jsonSchema },
  };
  return { "~standard": standard };
}
