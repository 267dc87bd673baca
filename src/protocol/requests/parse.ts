import type * as z from "zod";
import { checkJson } from "../schema/check-json.ts";
import type { Issue, RefusalKind } from "../schema/check-json.ts";
import { besideSchema, LOGGING_LEVELS, requestSchemas } from "./requests.ts";
import type { Delivery, Request, Beside } from "./requests.ts";
import { describeIssue, toIssues } from "../schema/schema-issues.ts";
import { isObject } from "../json.ts";
import type { Fields } from "../json.ts";

/** A parsed value, or what is wrong with it. */
export type Parsed<Value> =
  | { readonly ok: true; readonly value: Value }
  | {
      readonly ok: false;
      readonly message: string;
      readonly issues: readonly Issue[];
      /** Absent means `invalid`. */
      readonly kind?: RefusalKind;
    };

/** A parsed request before it has an id. */
export interface IncomingRequest {
  readonly request: Request;
  readonly delivery: Delivery;
}

/** Parses a body of a route of its own. Never throws. */
export function parseStrictly<Value>(schema: z.ZodType<Value>, body: unknown): Parsed<Value> {
  const unsafe = checkJson(body);
  const { success, data, error } = schema.safeParse(body, { error: describeIssue });
  if (success && unsafe.length === 0) return { ok: true, value: data };
  const issues = [...unsafe.map(({ path, message }) => ({ path, message })), ...toIssues(error)];
  const faults = issues.map(({ path, message }) => `${path === "" ? "the body" : path} ${message}`);
  return { ok: false, message: faults.join("; "), issues };
}

/**
 * Parses the body of a request together with its query. Never throws.
 *
 * - A query parameter counts if the body does not have the field. An optional field that is `null` counts as
 *   absent; unknown fields are ignored.
 * - Without `type`, a body with `operation` is an OperationRequest, else one with `input` a ChatRequest, else
 *   one with `args` a ConfigureRequest.
 * - Whole numbers as `run_id` and `request_id` are read as strings, an unknown `logging_level` as `default`.
 * - `run_context` is merged into `request_metadata`, which wins on equal keys.
 */
export function parseRequest(
  body: unknown,
  query: { readonly [name: string]: string } = {},
): Parsed<IncomingRequest> {
  const unsafe = checkJson(body);
  if (unsafe.length > 0) {
    const kinds = new Set(unsafe.map((issue) => issue.kind));
    const kind = REFUSALS.find((refusal) => kinds.has(refusal));
    const issues = unsafe.map(({ path, message }) => ({ path, message }));
    return refuse(issues, kind);
  }
  if (!isObject(body)) return refuse([{ path: "", message: "must be a JSON object" }]);

  const fields = toFields(body, query);
  const type = typeOf(fields);
  if (!isRequestType(type)) return refuse([{ path: "type", message: typeFault(type) }]);

  const schema: z.ZodType<Request> = requestSchemas[type];
  const request = schema.safeParse({ ...fields, type }, { error: describeIssue });
  const beside = besideSchema.safeParse(fields, { error: describeIssue });
  if (!request.success || !beside.success) {
    return refuse([...toIssues(request.error), ...toIssues(beside.error)]);
  }
  if (isAnswerToNothing(request.data)) {
    return refuse([{ path: "request_id", message: "is required, unless there is a run_id or a key" }]);
  }
  if (isMessageWithoutRun(request.data)) {
    return refuse([{ path: "run_id", message: "is required, unless there is a key" }]);
  }
  return {
    ok: true,
    value: { request: withContext(request.data, beside.data), delivery: toDelivery(beside.data) },
  };
}

/** Parses a position in a run's log, as in `since` and `Last-Event-ID`: a whole number ≥ 0. */
export function parseCursor(text: string): Parsed<number> {
  const cursor = DIGITS.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(cursor)) return { ok: true, value: cursor };
  return refuseText("must be the id of an event, or 0");
}

/** Parses a boolean: `true`, `1`, `false` or `0`, in any letter case. */
export function parseFlag(text: string): Parsed<boolean> {
  const flag = toFlag(text);
  return typeof flag === "boolean" ? { ok: true, value: flag } : refuseText("must be true or false");
}

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

/** The first kind found in this order is reported. */
const REFUSALS: readonly RefusalKind[] = ["too_large", "invalid", "unprocessable"];

function refuse(issues: readonly Issue[], kind: RefusalKind = "invalid"): Parsed<never> {
  const faults = issues.map(({ path, message }) => `${path === "" ? "the body" : path} ${message}`);
  return { ok: false, message: faults.join("; "), issues, kind };
}

// Resume and Cancel must be named: a request that waits or runs must not be changed by a guess.
function typeOf(fields: Fields): unknown {
  if (fields["type"] !== undefined) return fields["type"];
  if (fields["operation"] !== undefined) return "OperationRequest";
  if (fields["input"] !== undefined) return "ChatRequest";
  if (fields["args"] !== undefined) return "ConfigureRequest";
  return undefined;
}

function isRequestType(type: unknown): type is Request["type"] {
  return typeof type === "string" && Object.hasOwn(requestSchemas, type);
}

function typeFault(type: unknown): string {
  const supported = `supported are ${Object.keys(requestSchemas).join(", ")}`;
  if (type === undefined) return `is required, unless there is input, operation or args; ${supported}`;
  if (typeof type !== "string") return `must be a string; ${supported}`;
  return `${JSON.stringify(type.slice(0, 64).toWellFormed())} is unknown; ${supported}`;
}

function isAnswerToNothing(request: Request): boolean {
  return (
    request.type === "ResumeWithInput" && (request.request_id ?? request.run_id ?? request.key) === undefined
  );
}

function isMessageWithoutRun(request: Request): boolean {
  return request.type === "Message" && (request.run_id ?? request.key) === undefined;
}

const DIGITS = /^\d{1,16}$/;

function refuseText(message: string): Parsed<never> {
  return { ok: false, message, issues: [{ path: "", message }] };
}

/**
 * Merges a body over its query, drops `null`, and converts each accepted spelling to the one that the schemas
 * know. Other values stay as they are; the schemas refuse them.
 */
function toFields(body: Fields, query: { readonly [name: string]: string }): Fields {
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
function toFlag(value: unknown): unknown {
  if (value === 1 || value === 0) return value === 1;
  if (typeof value !== "string") return value;
  return FLAGS.get(value.toLowerCase()) ?? value;
}

/** Reads how the answer is to be delivered. */
function toDelivery({ wait = false, wait_ms = DEFAULT_WAIT_MS }: Beside): Delivery {
  if (wait === "completed") return { wait, waitMs: Math.min(wait_ms, COMPLETED_LIMIT_MS) };
  const acknowledged = wait === true || wait === "acknowledged";
  return { wait: acknowledged ? "acknowledged" : "none", waitMs: Math.min(wait_ms, DEFAULT_WAIT_MS) };
}

/** Merges the run context into the request's metadata, if it has any. */
function withContext(request: Request, { run_context }: Beside): Request {
  if (run_context === undefined) return request;
  if (request.type !== "ChatRequest" && request.type !== "OperationRequest") return request;
  return { ...request, request_metadata: { ...run_context, ...request.request_metadata } };
}

const DEFAULT_WAIT_MS = 30_000;
const COMPLETED_LIMIT_MS = 600_000;

const FLAGS = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);

const LEVELS: ReadonlySet<unknown> = new Set(LOGGING_LEVELS);

function toNumber(text: unknown): unknown {
  return typeof text === "string" && DIGITS.test(text) ? Number(text) : text;
}

function toLevel(level: unknown): unknown {
  return LEVELS.has(level) ? level : "default";
}
