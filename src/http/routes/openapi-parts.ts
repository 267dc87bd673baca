import type { Json, JsonObject } from "../../protocol/json.ts";

/** Answers by their status. */
export type Responses = { readonly [status: string]: JsonObject };

/** The schema of any text. */
export const text: JsonObject = { type: "string" };

/** The schema of a number of things, or of a place. */
export const whole: JsonObject = { type: "integer", minimum: 0 };

/** The schema of yes or no. */
export const flag: JsonObject = { type: "boolean" };

/** A route's method: what it does, what it answers with beside a refusal, and what it takes. */
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

/** Gives every operation an id, made of its method and its path, for those who generate clients. */
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

/** Refers to a schema by its name. */
export function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** The schema of a list. */
export function listOf(items: JsonObject): JsonObject {
  return { type: "array", items };
}

/** An answer of JSON. */
export function json(schema: JsonObject, description: string): JsonObject {
  return { description, content: { "application/json": { schema } } };
}

/** An answer without a body. */
export function empty(description: string): JsonObject {
  return { description };
}

/** A field of the query. */
export function inQuery(name: string, schema: JsonObject, description: string): JsonObject {
  return { name, in: "query", schema, description };
}

/** A part of the path. */
export function inPath(name: string): JsonObject {
  return { name, in: "path", required: true, schema: text };
}
