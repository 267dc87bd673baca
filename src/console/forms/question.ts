import { isObject } from "../../protocol/json.ts";
import type { Questions } from "../../protocol/events/event-body.ts";
import type { JsonObject } from "../../protocol/json.ts";

/** The schema of the answer to a wait. A wait without one takes JSON, or else a text, for each key. */
export function answerSchema(questions: Questions, schema: JsonObject | undefined): JsonObject {
  if (schema !== undefined) return schema;
  const keys = Object.keys(questions);
  return { type: "object", properties: Object.fromEntries(keys.map((key) => [key, {}])), required: keys };
}

/** The key of a wait that is answered by Yes or No: it asks for one boolean and nothing else. */
export function yesNoKey(schema: JsonObject): string | undefined {
  const { properties } = schema;
  if (!isObject(properties)) return undefined;
  const keys = Object.keys(properties);
  const [key] = keys;
  if (key === undefined || keys.length !== 1) return undefined;
  const field = properties[key];
  return isObject(field) && field["type"] === "boolean" ? key : undefined;
}
