import type { Beside } from "./request-schemas.ts";
import type { Delivery, Request } from "./requests.ts";

/** The fields of a request before they are checked. */
export type Fields = { readonly [name: string]: unknown };

/**
 * Lays a body over the query it was sent with, drops what is `null`, and brings every spelling that is
 * taken to the one that the schemas know. What has no such spelling stays as it is, for them to refuse.
 */
export function toFields(body: Fields, query: { readonly [name: string]: string }): Fields {
  const fields: { [name: string]: unknown } = {};
  for (const name of queryFields) {
    if (Object.hasOwn(query, name)) fields[name] = query[name];
  }
  // In a query every number is a text; in a body it has no need to be.
  for (const name of ["wait_ms", "wait_id"]) {
    if (name in fields) fields[name] = toNumber(fields[name]);
  }
  for (const name of Object.keys(body)) {
    // An operation may take null as its input; elsewhere null says that there is nothing.
    if (body[name] !== null || name === "input") fields[name] = body[name];
  }
  for (const name of ["run_id", "request_id"]) {
    if (Number.isSafeInteger(fields[name])) fields[name] = String(fields[name]);
  }
  if ("wait" in fields) fields["wait"] = toFlag(fields["wait"]);
  if ("logging_level" in fields) fields["logging_level"] = toLevel(fields["logging_level"]);
  return fields;
}

/** Reads the spellings of yes and no that clients use; what is neither comes back as it is. */
export function toFlag(value: unknown): unknown {
  if (value === 1 || value === 0) return value === 1;
  if (typeof value !== "string") return value;
  return FLAGS.get(value.toLowerCase()) ?? value;
}

/** Says how an answer is wanted. */
export function toDelivery({ wait = false, wait_ms = DEFAULT_WAIT_MS }: Beside): Delivery {
  if (wait === "completed") return { wait, waitMs: Math.min(wait_ms, COMPLETED_LIMIT_MS) };
  const acknowledged = wait === true || wait === "acknowledged";
  return { wait: acknowledged ? "acknowledged" : "none", waitMs: Math.min(wait_ms, DEFAULT_WAIT_MS) };
}

/** Merges the context into the metadata of a request that has any. */
export function withContext(request: Request, { run_context }: Beside): Request {
  if (run_context === undefined) return request;
  if (request.type !== "ChatRequest" && request.type !== "OperationRequest") return request;
  return { ...request, request_metadata: { ...run_context, ...request.request_metadata } };
}

const DEFAULT_WAIT_MS = 30_000;
const COMPLETED_LIMIT_MS = 600_000;

/** The fields of a request that its query can say. */
export const queryFields: readonly string[] = [
  "request_id",
  "run_id",
  "logging_level",
  "on_busy",
  "wait",
  "wait_ms",
  "wait_id",
  "resume_id",
];

const FLAGS = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);

const LEVELS = new Set<unknown>(["minimal", "default", "tools", "llm", "agents", "all"]);

function toNumber(text: unknown): unknown {
  return typeof text === "string" && /^\d{1,16}$/.test(text) ? Number(text) : text;
}

function toLevel(level: unknown): unknown {
  return LEVELS.has(level) ? level : "default";
}
