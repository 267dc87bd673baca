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
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

/** The value that a JSON text has; `undefined` for any other text. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
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

/** JSON text that is equal for equal values in any key order. The value must have bounded depth. */
export function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const fields = value as { readonly [key: string]: unknown };
  let members = "";
  for (const key of Object.keys(fields).sort()) {
    if (fields[key] === undefined) continue;
    members += `${members === "" ? "" : ","}${JSON.stringify(key)}:${canonical(fields[key])}`;
  }
  return `{${members}}`;
}
