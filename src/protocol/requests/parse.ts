import type * as z from "zod";
import { checkJson } from "../schema/check-json.ts";
import { toDelivery, toFields, withContext } from "./incoming.ts";
import type { Issue, RefusalKind } from "../schema/issue.ts";
import { besideSchema, requestSchemas } from "./request-schemas.ts";
import type { Delivery, Request } from "./requests.ts";
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
