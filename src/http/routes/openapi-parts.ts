import type { Json, JsonObject } from "../../protocol/json.ts";

export type Responses = { readonly [status: string]: JsonObject };

export const text: JsonObject = { type: "string" };

/** The schema of a count or a position. */
export const whole: JsonObject = { type: "integer", minimum: 0 };

/** The schema of a boolean. */
export const flag: JsonObject = { type: "boolean" };

/** A method of a route: its summary, its answers other than refusals, and its parameters. */
export function operation(
  summary: string,
  responses: Responses,
  parameters: readonly JsonObject[] = [],
  content?: JsonObject,
): JsonObject {
  const problem = {
    description: "A refusal.",
    content: { "application/problem+json": { schema: ref("Problem") } },
  };
  return {
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(content && { requestBody: { required: true, content } }),
    responses: { ...responses, default: problem },
  };
}

/** Adds an operation id to every operation, from its method and path, for client generators. */
export function withOperationIds(paths: JsonObject): JsonObject {
  const items = Object.entries(paths).map(([path, item]) => {
    const methods = Object.entries(item as JsonObject).map(([method, operation]): [string, Json] => [
      method,
      method === "parameters"
        ? operation
        : { operationId: toOperationId(method, path), ...(operation as JsonObject) },
    ]);
    return [path, Object.fromEntries(methods)] as const;
  });
  return Object.fromEntries(items);
}

function toOperationId(method: string, path: string): string {
  const own = path.replace(/^\/\{agent\}/, "");
  const words = own
    .replaceAll("{", "by/")
    .split(/[^a-z]+/i)
    .filter((word) => word !== "" && word !== "json");
  const name = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join("");
  return `${method}${name || "Agents"}${own === path ? "" : "OfAgent"}`;
}

/** A reference to a schema by name. */
export function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

export function listOf(items: JsonObject): JsonObject {
  return { type: "array", items };
}

/** A JSON answer. */
export function json(schema: JsonObject, description: string): JsonObject {
  return { description, content: { "application/json": { schema } } };
}

/** An answer without a body. */
export function empty(description: string): JsonObject {
  return { description };
}

/** A query parameter. */
export function inQuery(name: string, schema: JsonObject, description: string): JsonObject {
  return { name, in: "query", schema, description };
}

/** A path parameter. */
export function inPath(name: string): JsonObject {
  return { name, in: "path", required: true, schema: text };
}
