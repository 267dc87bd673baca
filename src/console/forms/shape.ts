import { isObject } from "../../protocol/json.ts";
import type { Fields, Json } from "../../protocol/json.ts";

/** What a form draws for a JSON Schema. */
export type FormShape =
  | { readonly kind: "text"; readonly isLong: boolean; readonly format?: string }
  | { readonly kind: "number"; readonly isWhole: boolean }
  | { readonly kind: "boolean" }
  | { readonly kind: "choice"; readonly options: readonly Json[] }
  | { readonly kind: "object"; readonly fields: readonly PropertyShape[] }
  | { readonly kind: "list"; readonly item: unknown }
  | { readonly kind: "variants"; readonly options: readonly Variant[] }
  | { readonly kind: "null" }
  /** Any value: JSON, or else a text. */
  | { readonly kind: "any" }
  /** A value that no field fits: it is written as JSON, with the schema beside it. */
  | { readonly kind: "json"; readonly schema: unknown };

/** A property of an object. */
export interface PropertyShape {
  readonly key: string;
  readonly schema: unknown;
  readonly isRequired: boolean;
}

/** One of several schemas of which a value fits one. */
export interface Variant {
  readonly label: string;
  readonly schema: unknown;
}

/** Finds out what to draw for a schema; `root` is the schema in which its references are looked up. */
export function toShape(schema: unknown, root: unknown): FormShape {
  const resolved = resolve(schema, root);
  if (resolved === undefined) return { kind: "json", schema };
  if (Array.isArray(resolved["enum"])) return toChoice(resolved["enum"] as readonly Json[]);
  if ("const" in resolved) return toChoice([resolved["const"] as Json]);
  const variants = resolved["anyOf"] ?? resolved["oneOf"];
  if (Array.isArray(variants)) return toVariants(variants, root);
  const { type } = resolved;
  if (Array.isArray(type)) {
    return toVariants(
      type.map((one) => ({ ...resolved, type: one as unknown })),
      root,
    );
  }
  switch (type) {
    case "string":
      return toText(resolved);
    case "number":
    case "integer":
      return { kind: "number", isWhole: type === "integer" };
    case "boolean":
      return { kind: "boolean" };
    case "null":
      return { kind: "null" };
    case "array":
      return isObject(resolved["items"])
        ? { kind: "list", item: resolved["items"] }
        : { kind: "json", schema };
    case "object":
      return toObject(resolved) ?? { kind: "json", schema };
    case undefined:
      if (isObject(resolved["properties"])) return toObject(resolved) ?? { kind: "json", schema };
      return isOpen(resolved) ? { kind: "any" } : { kind: "json", schema };
    default:
      return { kind: "json", schema };
  }
}

/** A schema with its references replaced and the parts of `allOf` joined; `undefined` if that is not possible. */
export function resolve(schema: unknown, root: unknown, depth: number = 0): Fields | undefined {
  if (schema === true) return {};
  if (!isObject(schema) || depth > REFERENCES) return undefined;
  const { $ref, allOf, ...own } = schema;
  if (typeof $ref === "string") {
    const target = resolve(lookUp($ref, root), root, depth + 1);
    return target === undefined ? undefined : { ...target, ...own };
  }
  if (!Array.isArray(allOf)) return own;
  let joined: Fields | undefined = own;
  for (const part of allOf) {
    const other = resolve(part, root, depth + 1);
    joined = joined === undefined || other === undefined ? undefined : join(joined, other);
  }
  return joined;
}

/** The limits of a value in words, for example `> 0` or `at most 20 characters`. */
export function toLimits(schema: unknown, root: unknown): string {
  const {
    minimum,
    maximum,
    exclusiveMinimum,
    exclusiveMaximum,
    multipleOf,
    minLength,
    maxLength,
    minItems,
    maxItems,
    format,
  } = resolve(schema, root) ?? {};
  const isNumber = (value: unknown): value is number => typeof value === "number";
  const words = [
    isNumber(exclusiveMinimum) && `> ${exclusiveMinimum}`,
    isNumber(minimum) && minimum > Number.MIN_SAFE_INTEGER && `≥ ${minimum}`,
    isNumber(exclusiveMaximum) && `< ${exclusiveMaximum}`,
    isNumber(maximum) && maximum < Number.MAX_SAFE_INTEGER && `≤ ${maximum}`,
    isNumber(multipleOf) && `a multiple of ${multipleOf}`,
    isNumber(minLength) && minLength > 1 && `at least ${minLength} characters`,
    isNumber(maxLength) && `at most ${maxLength} characters`,
    isNumber(minItems) && minItems > 0 && `at least ${minItems}`,
    isNumber(maxItems) && `at most ${maxItems}`,
    typeof format === "string" && format,
  ];
  return words.filter((word) => typeof word === "string").join(", ");
}

/** How deep references may lead to references; a schema can refer to itself. */
const REFERENCES = 16;

/** The longest text that a field of one line shows; a text with a media type has several lines. */
const LINE = 200;

function toText(schema: Fields): FormShape {
  const { format, maxLength, contentMediaType: type } = schema;
  const isLong = (typeof maxLength === "number" && maxLength > LINE) || typeof type === "string";
  return { kind: "text", isLong, ...(typeof format === "string" && { format }) };
}

function toChoice(options: readonly Json[]): FormShape {
  return { kind: "choice", options };
}

/** A value that is one of several: a choice if all are constants, otherwise variants. */
function toVariants(schemas: readonly unknown[], root: unknown): FormShape {
  const shapes = schemas.map((schema) => toShape(schema, root));
  const constants = shapes.flatMap((shape) =>
    shape.kind === "choice" ? shape.options : shape.kind === "null" ? [null] : [],
  );
  const isChoice = shapes.every(({ kind }) => kind === "choice" || kind === "null");
  if (isChoice && constants.length > 1) return toChoice(constants);
  const options = schemas.map((schema, at) => ({
    label: nameOf(schema, root) ?? nameOfShape(shapes[at]),
    schema,
  }));
  const [only] = options;
  return options.length === 1 && only !== undefined
    ? toShape(only.schema, root)
    : { kind: "variants", options };
}

function toObject(schema: Fields): FormShape | undefined {
  const { properties = {}, required = [], additionalProperties, patternProperties } = schema;
  if (!isObject(properties)) return undefined;
  const keys = Object.keys(properties);
  // Keys that the schema does not name need JSON.
  if (keys.length === 0 && (isObject(additionalProperties) || patternProperties !== undefined))
    return undefined;
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  const fields = keys.map((key) => ({ key, schema: properties[key], isRequired: names.includes(key) }));
  if (keys.length === 0 && additionalProperties !== false) return undefined;
  return { kind: "object", fields };
}

function isOpen(schema: Fields): boolean {
  return Object.keys(schema).every((key) => ANNOTATIONS.has(key));
}

const ANNOTATIONS: ReadonlySet<string> = new Set([
  "title",
  "description",
  "default",
  "examples",
  "$schema",
  "$defs",
  "$id",
]);

function nameOf(schema: unknown, root: unknown): string | undefined {
  const { title } = resolve(schema, root) ?? {};
  return typeof title === "string" && title !== "" ? title : undefined;
}

function nameOfShape(shape: FormShape | undefined): string {
  switch (shape?.kind) {
    case "text":
      return "text";
    case "number":
      return shape.isWhole ? "whole number" : "number";
    case "boolean":
      return "yes or no";
    case "choice":
      return shape.options
        .map((option) => (typeof option === "string" ? option : JSON.stringify(option)))
        .join(", ");
    case "list":
      return "list";
    case "object": {
      const keys = shape.fields.map(({ key }) => key);
      return keys.length === 0 ? "empty" : keys.slice(0, 3).join(", ");
    }
    case "null":
      return "nothing";
    default:
      return "any value";
  }
}

function lookUp(reference: string, root: unknown): unknown {
  if (!reference.startsWith("#")) return undefined;
  let found: unknown = root;
  for (const part of reference.split("/").slice(1)) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isObject(found) && !Array.isArray(found)) return undefined;
    found = Object.hasOwn(found, key) ? (found as Fields)[key] : undefined;
  }
  return found;
}

function join(a: Fields, b: Fields): Fields {
  const properties = { ...toFields(a["properties"]), ...toFields(b["properties"]) };
  const required = [...toList(a["required"]), ...toList(b["required"])];
  return {
    ...a,
    ...b,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  };
}

export function toFields(value: unknown): Fields {
  return isObject(value) ? value : {};
}

export function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}
