import { AgentError } from "../../../errors.ts";
import { isObject } from "../../../protocol/json.ts";
import type { Json, JsonObject } from "../../../protocol/json.ts";
import type { ContentValue } from "../objects.ts";

/** Adds a delta to the content before it. Texts are joined, data is merged, and an address is replaced. */
export function mergeDelta(before: ContentValue, delta: ContentValue): ContentValue {
  switch (delta.type) {
    case "text":
      if (before.type === "text") return { type: "text", text: before.text + delta.text };
      break;
    case "refusal":
      if (before.type === "refusal") return { type: "refusal", refusal: before.refusal + delta.refusal };
      break;
    case "audio":
      if (before.type === "audio")
        return { type: "audio", data: before.data + delta.data, format: delta.format ?? before.format };
      break;
    case "data":
      if (before.type === "data") return { type: "data", data: mergeObjects(before.data, delta.data) };
      break;
    case "image":
    case "video":
    case "file":
      if (before.type === delta.type) return delta;
      break;
    default: {
      const never: never = delta;
      return never;
    }
  }
  throw new AgentError("conflict", `a ${delta.type} delta cannot be added to a ${before.type} content`);
}

function mergeObjects(before: JsonObject, delta: JsonObject): JsonObject {
  const merged = new Map(Object.entries(before));
  for (const [key, value] of Object.entries(delta)) {
    const old = merged.get(key);
    merged.set(key, old === undefined ? value : mergeJson(old, value));
  }
  return Object.fromEntries(merged);
}

/** Joins texts and lists, adds numbers, merges objects; any other value is replaced. */
function mergeJson(before: Json, delta: Json): Json {
  if (typeof before === "string" && typeof delta === "string") return before + delta;
  if (typeof before === "number" && typeof delta === "number") return before + delta;
  if (isList(before) && isList(delta)) return [...before, ...delta];
  if (isObject(before) && isObject(delta)) return mergeObjects(before, delta);
  return delta;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
