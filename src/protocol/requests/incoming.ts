import type { Beside } from "./request-schemas.ts";
import type { Delivery, Request } from "./requests.ts";
import type { Fields } from "../json.ts";

/**
 * Merges a body over its query, drops `null`, and converts each accepted spelling to the one that the schemas
 * know. Other values stay as they are; the schemas refuse them.
 */
export function toFields(body: Fields, query: { readonly [name: string]: string }): Fields {
  const fields: { [name: string]: unknown } = {};
  for (const name of queryFields) {
    if (Object.hasOwn(query, name)) fields[name] = query[name];
  }
  // Query values are texts; in a body numbers are expected.
  for (const name of ["wait_ms", "wait_id"]) {
    if (name in fields) fields[name] = toNumber(fields[name]);
  }
  for (const name of Object.keys(body)) {
    // The input of an operation and the body of a message may be null; in other fields null means absent.
    if (body[name] !== null || name === "input" || name === "body") fields[name] = body[name];
  }
  for (const name of ["run_id", "request_id"]) {
    if (Number.isSafeInteger(fields[name])) fields[name] = String(fields[name]);
  }
  if ("wait" in fields) fields["wait"] = toFlag(fields["wait"]);
  if ("logging_level" in fields) fields["logging_level"] = toLevel(fields["logging_level"]);
  return fields;
}

/** Converts the spellings of true and false that clients use; other values are returned unchanged. */
export function toFlag(value: unknown): unknown {
  if (value === 1 || value === 0) return value === 1;
  if (typeof value !== "string") return value;
  return FLAGS.get(value.toLowerCase()) ?? value;
}

/** Reads how the answer is to be delivered. */
export function toDelivery({ wait = false, wait_ms = DEFAULT_WAIT_MS }: Beside): Delivery {
  if (wait === "completed") return { wait, waitMs: Math.min(wait_ms, COMPLETED_LIMIT_MS) };
  const acknowledged = wait === true || wait === "acknowledged";
  return { wait: acknowledged ? "acknowledged" : "none", waitMs: Math.min(wait_ms, DEFAULT_WAIT_MS) };
}

/** Merges the run context into the request's metadata, if it has any. */
export function withContext(request: Request, { run_context }: Beside): Request {
  if (run_context === undefined) return request;
  if (request.type !== "ChatRequest" && request.type !== "OperationRequest") return request;
  return { ...request, request_metadata: { ...run_context, ...request.request_metadata } };
}

const DEFAULT_WAIT_MS = 30_000;
const COMPLETED_LIMIT_MS = 600_000;

/** The request fields that can be query parameters. */
export const queryFields: readonly string[] = [
  "request_id",
  "run_id",
  "key",
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
