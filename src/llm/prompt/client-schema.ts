import * as z from "zod";
import { isObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Schema } from "../../runtime/agent/agent.ts";
import { handwrittenSchema } from "../../runtime/agent/definition/handwritten-schema.ts";

/**
 * A schema from a JSON Schema that a client gave. Checking a value takes time in proportion to the schema and the value,
 * for any schema: patterns and formats are not run, and a schema above 2,000 parts, with its references resolved, accepts
 * anything beyond them. Neither `not`, conditions, the places of a tuple nor what depends on other keywords is checked. Everything
 * else is.
 */
export function clientSchema(jsonSchema: JsonObject): Schema<Json> {
  let checked: z.ZodType | undefined;
  return handwrittenSchema((value) => {
    // The registry is of its own, because the global one would keep each schema.
    checked ??= z.fromJSONSchema(toCheckable(jsonSchema), { registry: z.registry() });
    const { error } = checked.safeParse(value);
    if (error === undefined) return { value: value as Json };
    return { issues: error.issues.map(({ message, path }) => ({ message, path: [...path] })) };
  }, jsonSchema);
}

/** Keywords that limit a number or a length. */
const LIMITS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
];

const TYPES: ReadonlySet<unknown> = new Set([
  "string",
  "number",
  "integer",
  "boolean",
  "null",
  "array",
  "object",
]);

const PARTS_LIMIT = 2_000;

type Checkable = Exclude<Parameters<typeof z.fromJSONSchema>[0], boolean>;

/** The part of a schema that is checked: a tree without references, which accepts at least what the schema accepts. */
function toCheckable(root: JsonObject): Checkable {
  let left = PARTS_LIMIT;
  const open = new Set<JsonObject>();
  const visit = (part: Json | undefined): Checkable | boolean => {
    if (part === false) return false;
    left -= 1;
    if (!isObject(part) || left < 0 || open.has(part)) return true;
    open.add(part);
    const found = part["$ref"] === undefined ? toTree(part) : follow(part);
    open.delete(part);
    return found;
  };
  const follow = ({ $ref: ref }: JsonObject): Checkable | boolean => visit(targetOf(root, ref));
  const visitAll = (parts: Json | undefined): readonly (Checkable | boolean)[] | undefined =>
    Array.isArray(parts) && parts.length > 0 ? (parts as readonly Json[]).map(visit) : undefined;
  const toTree = (part: JsonObject): Checkable => {
    const { type, properties, required, patternProperties, additionalProperties, items, prefixItems } = part;
    const types = (Array.isArray(type) ? (type as readonly Json[]) : [type]).filter((one) => TYPES.has(one));
    const named = Object.entries(isObject(properties) ? properties : {});
    const keys = (Array.isArray(required) ? (required as readonly Json[]) : []).filter(isText);
    const tree: { [keyword: string]: unknown } = {
      ...(types.length > 0 && { type: types.length === 1 ? types[0] : types }),
      properties: Object.fromEntries([
        // A required key counts only if it is among the properties.
        ...keys.map((key) => [key, true] as const),
        ...named.map(([key, value]) => [key, visit(value)] as const),
      ]),
      required: keys,
    };
    for (const keyword of LIMITS) if (typeof part[keyword] === "number") tree[keyword] = part[keyword];
    const values = part["const"] === undefined ? part["enum"] : [part["const"]];
    if (Array.isArray(values) && values.length > 0 && !values.some(isComposite)) tree["enum"] = values;
    if (patternProperties === undefined && additionalProperties !== undefined)
      tree["additionalProperties"] = visit(additionalProperties);
    if (prefixItems === undefined && items !== undefined && !Array.isArray(items))
      tree["items"] = visit(items);
    // Without what is not checked, a value may fit several of them.
    const anyOf = visitAll(part["anyOf"]) ?? visitAll(part["oneOf"]);
    if (anyOf) tree["anyOf"] = anyOf;
    const allOf = visitAll(part["allOf"]);
    if (allOf) tree["allOf"] = allOf;
    return tree;
  };
  const found = visit(root);
  return typeof found === "boolean" ? {} : found;
}

/** What a reference inside a schema leads to. */
function targetOf(root: JsonObject, ref: Json | undefined): Json | undefined {
  if (typeof ref !== "string" || !ref.startsWith("#")) return undefined;
  let place: Json | undefined = root;
  for (const step of ref.split("/").slice(1)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isObject(place) || !Object.hasOwn(place, name)) return undefined;
    place = place[name];
  }
  return place;
}

function isText(value: Json): value is string {
  return typeof value === "string";
}

function isComposite(value: Json): boolean {
  return typeof value === "object" && value !== null;
}
