/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json };

/** An object whose values are unchecked. */
export type Fields = { readonly [name: string]: unknown };

/** Whether a value is an object with keys: no array and not null. */
export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object that a JSON text has; `undefined` for any other text. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** A copy that shares no mutable part with the value. */
export function copyJson<Value extends Json | undefined>(value: Value): Value;
export function copyJson(value: Json | undefined): Json | undefined {
  if (typeof value !== "object" || value === null) return value;
  if (isList(value)) return value.map((item) => copyJson(item));
  // The spread makes own keys, so that assigning `__proto__` is safe.
  const copy: Record<string, Json> = { ...value };
  for (const [key, item] of Object.entries(value)) if (typeof item === "object") copy[key] = copyJson(item);
  return copy;
}

function isList(value: readonly Json[] | JsonObject): value is readonly Json[] {
  return Array.isArray(value);
}
