import type { Json, JsonObject } from "../../protocol/json.ts";

/** A value before, which may not have been there. */
export interface Earlier {
  readonly value: Json | undefined;
}

/** How a value differs from the one before; `undefined` if they are equal. */
export function changeOf(value: Json, { value: before }: Earlier): "new" | "changed" | undefined {
  if (before === undefined) return "new";
  return JSON.stringify(before) === JSON.stringify(value) ? undefined : "changed";
}

/** What an earlier object or list had under a key. */
export function earlierAt({ value }: Earlier, key: string): Earlier {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return { value: undefined };
  return { value: (value as JsonObject)[key] };
}

/** The keys of an earlier object or list that a value no longer has. */
export function removedFrom(value: object, earlier: Earlier | undefined): readonly string[] {
  const before = earlier?.value;
  if (typeof before !== "object" || before === null || Array.isArray(before) !== Array.isArray(value))
    return [];
  return Object.keys(before).filter((key) => !Object.hasOwn(value, key));
}
