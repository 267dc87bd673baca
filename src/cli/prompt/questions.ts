import type { Json, JsonObject } from "../../protocol/json.ts";
import { isObject } from "../../protocol/json.ts";

/** A value that a person is asked for. */
export interface PromptField {
  readonly key: string;
  readonly question: string;
  readonly isRequired: boolean;
  readonly kind: FieldKind;
  readonly initial?: Json;
}

/** How a value is typed. `json` stands for everything that has no simple form. */
export type FieldKind =
  | { readonly type: "boolean" }
  | { readonly type: "choice"; readonly values: readonly Json[] }
  | { readonly type: "number"; readonly isInteger: boolean }
  | { readonly type: "text" }
  | { readonly type: "json" };

/** The fields of an object schema, or of questions without a schema, in their order. */
export function toPromptFields(
  schema: JsonObject | undefined,
  questions: Readonly<Record<string, string>> = {},
): PromptField[] {
  const properties = isObject(schema?.["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema?.["required"]) ? schema["required"] : Object.keys(questions);
  const keys = Object.keys(properties).length > 0 ? Object.keys(properties) : Object.keys(questions);
  return keys.map((key) => {
    const property = isObject(properties[key]) ? properties[key] : {};
    const { description, default: initial } = property;
    return {
      key,
      question: questions[key] ?? (typeof description === "string" ? description : key),
      isRequired: required.includes(key),
      kind: toKind(property),
      ...(initial !== undefined && { initial }),
    };
  });
}

/** Reads what was typed for a value; an explanation if it cannot be one. */
export function parseField(
  { kind }: Pick<PromptField, "kind">,
  text: string,
): { readonly value: Json } | { readonly problem: string } {
  switch (kind.type) {
    case "text":
      return { value: text };
    case "boolean": {
      const value = BOOLEANS.get(text.toLowerCase());
      return value === undefined ? { problem: "answer true or false" } : { value };
    }
    case "number": {
      const value = Number(text);
      const isNumber = text.trim() !== "" && Number.isFinite(value);
      if (!isNumber) return { problem: "not a number" };
      return kind.isInteger && !Number.isInteger(value) ? { problem: "not a whole number" } : { value };
    }
    case "choice": {
      const value = kind.values.find((choice) => toChoice(choice) === text);
      const known = kind.values.map(toChoice).join(", ");
      return value === undefined ? { problem: `one of ${known}` } : { value };
    }
    case "json":
      try {
        return { value: JSON.parse(text) as Json };
      } catch (thrown) {
        return { problem: `not JSON: ${(thrown as Error).message}` };
      }
    default:
      return kind satisfies never;
  }
}

/** A choice as it is typed and shown. */
export function toChoice(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["yes", true],
  ["y", true],
  ["false", false],
  ["no", false],
  ["n", false],
]);

/** The keywords of a schema without a type whose values can be more than texts. */
const COMPOSED = ["allOf", "anyOf", "oneOf", "$ref"];

function toKind(property: JsonObject): FieldKind {
  const { type, enum: values } = property;
  if (Array.isArray(values) && values.length > 0) return { type: "choice", values: values as Json[] };
  switch (type) {
    case "boolean":
      return { type: "boolean" };
    case "integer":
    case "number":
      return { type: "number", isInteger: type === "integer" };
    case "string":
    case undefined:
      return COMPOSED.some((keyword) => property[keyword] !== undefined)
        ? { type: "json" }
        : { type: "text" };
    default:
      return { type: "json" };
  }
}
