import type { OperationDescriptor } from "../../protocol/answers/descriptor.ts";
import { isObject } from "../../protocol/json.ts";
import { stdout, styled } from "./terminal.ts";
import { toLine } from "./text.ts";

/** Prints an operation as one would type it, and what it does. */
export function printOperation({
  name,
  description,
  input_schema,
  output_schema,
}: OperationDescriptor): void {
  stdout.line(styled("bold", name), `(${toTypeText(input_schema)}): ${toTypeText(output_schema)}`);
  if (description !== "") stdout.line(`  ${toLine(description)}`);
}

/** A JSON Schema as a type of TypeScript, as far as that says it. */
export function toTypeText(schema: unknown): string {
  if (!isObject(schema)) return "any";
  const { type, enum: values, anyOf, oneOf, items, properties } = schema;
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (schema["const"] !== undefined) return JSON.stringify(schema["const"]);
  const either = anyOf ?? oneOf;
  if (Array.isArray(either)) return either.map(toTypeText).join(" | ");
  if (isObject(properties)) return toObjectType(properties, schema["required"]);
  if (type === "array") return `${toTypeText(items)}[]`;
  if (type === "integer") return "number";
  return typeof type === "string" ? type : "any";
}

function toObjectType(properties: object, required: unknown): string {
  const isRequired = (key: string): boolean => Array.isArray(required) && required.includes(key);
  const fields = Object.entries(properties).map(
    ([key, schema]) => `${key}${isRequired(key) ? "" : "?"}: ${toTypeText(schema)}`,
  );
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}
