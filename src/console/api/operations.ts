import { isObject } from "../../protocol/json.ts";
import type { Fields } from "../../protocol/json.ts";
import { toFields, toList } from "../forms/shape.ts";

/** The routes and schemas of a server, as its OpenAPI document lists them. */
export interface Api {
  readonly operations: readonly ApiOperation[];
  /** The schemas by name. */
  readonly schemas: Fields;
}

/** A method of a route. */
export interface ApiOperation {
  /** Its name in addresses. */
  readonly id: string;
  readonly method: string;
  /** With its parameters in braces, for example `/runs/{run_id}`. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  /** Whether the route also exists below the path of each agent. */
  readonly isOfAgent: boolean;
  readonly parameters: readonly ApiParameter[];
  readonly body?: ApiContent;
  readonly answers: readonly ApiAnswer[];
}

export interface ApiParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly isRequired: boolean;
  /** The values to choose from; absent if it can be any text. */
  readonly choices?: readonly string[];
}

/** A body: its media type and its schema, which is absent for a file. */
export interface ApiContent {
  readonly type: string;
  readonly schema?: unknown;
}

export interface ApiAnswer {
  readonly status: string;
  readonly description: string;
  readonly content?: ApiContent;
}

/** Reads an OpenAPI document. Parts that it lacks are left out. */
export function readApi(document: unknown): Api {
  const { paths, components } = toFields(document);
  const operations = Object.entries(toFields(paths)).flatMap(([path, item]) => {
    const { parameters, servers, ...methods } = toFields(item);
    return Object.entries(methods).map(([method, operation]) =>
      toOperation({ method, path, isOfAgent: servers === undefined }, toFields(operation), parameters),
    );
  });
  return { operations, schemas: toFields(toFields(components)["schemas"]) };
}

/** The schema that a reference names, and its name; a schema that is no reference has none. */
export function resolveSchema(
  schema: unknown,
  schemas: Fields,
): { readonly name?: string; readonly schema: unknown } {
  const reference = toFields(schema)["$ref"];
  if (typeof reference !== "string") return { schema };
  const name = reference.slice(reference.lastIndexOf("/") + 1);
  return { name, schema: schemas[name] };
}

/** The names of the schemas that a schema refers to, each once. */
export function referencesIn(schema: unknown): readonly string[] {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    if (!isObject(value)) return;
    for (const [key, part] of Object.entries(value)) {
      if (key === "$ref" && typeof part === "string") found.add(part.slice(part.lastIndexOf("/") + 1));
      else visit(part);
    }
  };
  visit(schema);
  return [...found];
}

function toOperation(
  { method, path, isOfAgent }: Pick<ApiOperation, "method" | "path" | "isOfAgent">,
  operation: Fields,
  shared: unknown,
): ApiOperation {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const body = toContent(toFields(requestBody)["content"]);
  return {
    id: toText(operationId) || `${method} ${path}`,
    method: method.toUpperCase(),
    path,
    summary: toText(summary),
    description: toText(description),
    isOfAgent,
    parameters: [...toList(shared), ...toList(parameters)].map(toParameter),
    ...(body && { body }),
    answers: Object.entries(toFields(responses)).flatMap(([status, answer]): ApiAnswer[] => {
      const { description: text, content } = toFields(answer);
      const found = toContent(content);
      // Every refusal is a problem document, which the page says once.
      return text === undefined
        ? []
        : [{ status, description: toText(text), ...(found && { content: found }) }];
    }),
  };
}

function toParameter(parameter: unknown): ApiParameter {
  const { name, in: place, description, required, schema } = toFields(parameter);
  const { type, enum: values } = toFields(schema);
  const choices =
    type === "boolean" ? ["true", "false"] : Array.isArray(values) ? values.map(String) : undefined;
  return {
    name: toText(name),
    in: place === "path" || place === "header" ? place : "query",
    description: toText(description),
    isRequired: required === true,
    ...(choices && { choices }),
  };
}

/** The first content of a body. */
function toContent(content: unknown): ApiContent | undefined {
  const [first] = Object.entries(toFields(content));
  if (first === undefined) return undefined;
  const [type, { schema }] = [first[0], toFields(first[1])];
  return { type, ...(schema !== undefined && { schema }) };
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
