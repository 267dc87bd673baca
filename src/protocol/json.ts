/** A value that JSON can carry. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** An object that JSON can carry. */
export type JsonObject = { readonly [key: string]: Json };

/** A copy that shares nothing with the value that can be changed. */
export function copyJson<Value extends Json | undefined>(value: Value): Value;
export function copyJson(value: Json | undefined): Json | undefined {
  if (typeof value !== "object" || value === null) return value;
  if (isList(value)) return value.map((item) => copyJson(item));
  // The keys are its own already when they are set anew, `__proto__` too.
  const copy: Record<string, Json> = { ...value };
  for (const [key, item] of Object.entries(value)) if (typeof item === "object") copy[key] = copyJson(item);
  return copy;
}

function isList(value: readonly Json[] | JsonObject): value is readonly Json[] {
  return Array.isArray(value);
}
