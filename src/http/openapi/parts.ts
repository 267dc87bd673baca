import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Routes } from "../../protocol/routes.ts";

export type Responses = { readonly [status: string]: JsonObject };

export const text: JsonObject = { type: "string" };

/** The schema of a count or a position. */
export const whole: JsonObject = { type: "integer", minimum: 0 };

/** The schema of a boolean. */
export const flag: JsonObject = { type: "boolean" };

/** RouteOperations by the names of their routes. */
export type RouteOperations<Name extends string> = { readonly [name in Name]: JsonObject };

/** What an operation is made of. */
export interface OperationParts {
  readonly summary: string;
  readonly description?: string;
  /** Its answers other than refusals. */
  readonly responses: Responses;
  readonly parameters?: readonly JsonObject[];
  /** The content of its body. */
  readonly content?: JsonObject;
}

/** A method of a route. */
export function routeOperation({ content, responses, ...parts }: OperationParts): JsonObject {
  const problem = { $ref: "#/components/responses/Refusal" };
  return {
    ...parts,
    ...(content && { requestBody: { required: true, content } }),
    responses: { ...responses, "4XX": problem, "5XX": problem },
  };
}

/** Every refusal. */
export const refusal: JsonObject = {
  description: "A refusal.",
  content: { "application/problem+json": { schema: ref("Problem") } },
};

/** Adds an operation id to every operation, from its method and path, for client generators. */
export function withOperationIds(paths: JsonObject): JsonObject {
  const items = Object.entries(paths).map(([path, item]) => {
    const methods = Object.entries(item as JsonObject).map(([method, operation]): [string, Json] => [
      method,
      method === "parameters" || method === "servers"
        ? operation
        : { operationId: toOperationId(method, path), ...(operation as JsonObject) },
    ]);
    return [path, Object.fromEntries(methods)] as const;
  });
  return Object.fromEntries(items);
}

function toOperationId(method: string, path: string): string {
  const words = path
    .replaceAll("{", "by/")
    .split(/[^a-z]+/i)
    .filter((word) => word !== "" && word !== "json");
  const name = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join("");
  return `${method}${name || "Agents"}`;
}

/** A reference to a schema by name. */
export function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

export function listOf(items: JsonObject): JsonObject {
  return { type: "array", items };
}

/** The schema of a value that fits one of several. */
export function oneOfSchemas(...schemas: readonly JsonObject[]): JsonObject {
  return { anyOf: schemas };
}

/** The schema of an object. */
export function object(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: "object", properties, required };
}

/** A JSON answer. */
export function jsonResponse(schema: JsonObject, description: string): JsonObject {
  return { description, content: { "application/json": { schema } } };
}

/** The content of a stream of server-sent events. */
export function stream(data: string): JsonObject {
  const description = `Server-sent events; the data of a frame is ${data}, as JSON.`;
  return { "text/event-stream": { schema: { ...text, description } } };
}

/** A JSON answer that is a stream if the request asks for one. */
export function orStream(answer: JsonObject, data: string): JsonObject {
  return { ...answer, content: { ...(answer["content"] as JsonObject), ...stream(data) } };
}

/** An answer without a body. */
export function empty(description: string): JsonObject {
  return { description };
}

/** A query parameter. */
export function inQuery(name: string, schema: JsonObject, description: string): JsonObject {
  return { name, in: "query", schema, description };
}

/** The path items of routes: their methods and the parameters of their paths. */
export function toPaths<Name extends string>(
  routes: Routes<Name>,
  operations: RouteOperations<NoInfer<Name>>,
  shared: JsonObject = {},
): JsonObject {
  const items: Record<string, JsonObject> = {};
  for (const name of Object.keys(routes) as Name[]) {
    const [method, path] = routes[name];
    const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = ""]) => inPath(parameter));
    const item = items[path] ?? { ...shared, ...(parameters.length > 0 && { parameters }) };
    items[path] = { ...item, [method.toLowerCase()]: operations[name] };
  }
  return items;
}

function inPath(name: string): JsonObject {
  return { name, in: "path", required: true, schema: text };
}
