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
