import { isObject } from "../../protocol/json.ts";
import type { Fields, Json } from "../../protocol/json.ts";
import { resolveSchema } from "./operations.ts";

/** A value that begins to fit a schema: its required fields, each with a value of its type. */
export function exampleOf(schema: unknown, schemas: Fields, depth: number = 0): Json {
  const { schema: found } = resolveSchema(schema, schemas);
  if (!isObject(found) || depth > DEEPEST) return null;
  const { const: constant, enum: values, default: usual, oneOf, anyOf, allOf, type, minimum } = found;
  if (constant !== undefined) return constant as Json;
  if (usual !== undefined) return usual as Json;
  if (Array.isArray(values)) return (values[0] ?? null) as Json;
  const variants: unknown = oneOf ?? anyOf;
  if (Array.isArray(variants)) return exampleOf(variants[0], schemas, depth + 1);
  if (Array.isArray(allOf)) {
    const parts = allOf.map((part) => exampleOf(part, schemas, depth + 1)).filter(isObject);
    return Object.assign({}, ...parts) as Json;
  }
  switch (type) {
    case "string":
      return "";
    case "integer":
    case "number":
      return typeof minimum === "number" ? minimum : 0;
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return exampleOfObject(found, schemas, depth);
    default:
      return isObject(found["properties"]) ? exampleOfObject(found, schemas, depth) : null;
  }
}

function exampleOfObject({ properties, required }: Fields, schemas: Fields, depth: number): Json {
  const names = Array.isArray(required) ? (required as readonly string[]) : [];
  const known = isObject(properties) ? properties : {};
  return Object.fromEntries(names.map((name) => [name, exampleOf(known[name], schemas, depth + 1)]));
}

/** A schema can refer to itself. */
const DEEPEST = 8;
