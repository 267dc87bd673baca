import type { Issue } from "../../protocol/schema/check-json.ts";
import { canonical, isObject } from "../../protocol/json.ts";
import type { Fields } from "../../protocol/json.ts";

/**
 * Checks a value against a JSON Schema without trusting the schema: it comes from outside, so its patterns
 * and references are ignored. The server that wrote the schema makes the final check.
 */
export function validateValue(schema: unknown, value: unknown): readonly Issue[] {
  const issues: Issue[] = [];
  visit(schema, value, { path: "", depth: 0, issues });
  return issues;
}

interface Visit {
  readonly path: string;
  readonly depth: number;
  readonly issues: Issue[];
}

const DEPTH_LIMIT = 32;
const ISSUES_LIMIT = 20;

function visit(schema: unknown, value: unknown, at: Visit): void {
  if (!isObject(schema) || at.depth > DEPTH_LIMIT || at.issues.length >= ISSUES_LIMIT) return;
  const report = (message: string): void => void at.issues.push({ path: at.path, message });
  const types = asList(schema["type"]);
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) {
    report(`must be ${types.join(" or ")}`);
    return;
  }
  if (Array.isArray(schema["enum"]) && !schema["enum"].some((one) => isEqual(one, value)))
    report(
      `must be one of ${schema["enum"]
        .map((one) => JSON.stringify(one))
        .join(", ")
        .slice(0, 200)}`,
    );
  if ("const" in schema && !isEqual(schema["const"], value)) report("must be the only allowed value");
  for (const part of asList(schema["allOf"])) visit(part, value, { ...at, depth: at.depth + 1 });
  const choices = asList(schema["anyOf"] ?? schema["oneOf"]);
  if (choices.length > 0 && !choices.some((choice) => fits(choice, value, at)))
    report("matches none of the allowed schemas");
  if (typeof value === "number") visitNumber(schema, value, report);
  if (typeof value === "string") visitSize(schema, "Length", lengthOf(value), report);
  if (Array.isArray(value)) {
    visitSize(schema, "Items", value.length, report);
    const first = asList(schema["prefixItems"]);
    for (const [index, item] of value.entries())
      visit(index < first.length ? first[index] : schema["items"], item, below(at, String(index)));
  } else if (isObject(value)) visitObject(schema, value, at);
}

function visitObject(schema: Fields, value: Fields, at: Visit): void {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  for (const name of asList(schema["required"])) {
    if (typeof name === "string" && !Object.hasOwn(value, name))
      at.issues.push({ path: below(at, name).path, message: "is required" });
  }
  for (const [name, item] of Object.entries(value)) {
    const known = Object.hasOwn(properties, name);
    if (known) visit(properties[name], item, below(at, name));
    // The patterns are not run, so every other key may match one.
    else if (schema["additionalProperties"] === false && !isObject(schema["patternProperties"]))
      at.issues.push({ path: below(at, name).path, message: "is unknown" });
  }
}

function visitNumber(schema: Fields, value: number, report: (message: string) => void): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (typeof minimum === "number" && value < minimum) report(`must be at least ${minimum}`);
  if (typeof maximum === "number" && value > maximum) report(`must be at most ${maximum}`);
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
    report(`must be more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
    report(`must be less than ${exclusiveMaximum}`);
}

function visitSize(schema: Fields, of: string, size: number, report: (message: string) => void): void {
  const [min, max] = [schema[`min${of}`], schema[`max${of}`]];
  if (typeof min === "number" && size < min) report(`must not be shorter than ${min}`);
  if (typeof max === "number" && size > max) report(`must not be longer than ${max}`);
}

/** The number of characters; a code unit is only half of some. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

function fits(schema: unknown, value: unknown, { depth }: Visit): boolean {
  const issues: Issue[] = [];
  visit(schema, value, { path: "", depth: depth + 1, issues });
  return issues.length === 0;
}

function below(at: Visit, name: string): Visit {
  return { ...at, path: at.path === "" ? name : `${at.path}.${name}`, depth: at.depth + 1 };
}

function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    case "string":
    case "number":
    case "boolean":
      return typeof value === type;
    default:
      return true;
  }
}

function isEqual(a: unknown, b: unknown): boolean {
  return a === b || canonical(a) === canonical(b);
}

function asList(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? (value as readonly unknown[]) : [value];
}
