import type { Request } from "../../protocol/requests/requests.ts";
import { INPUT_LIMIT_BYTES, toJson } from "../journal/json-limits.ts";
import { copyPlain } from "../journal/plain-copy.ts";

/**
 * A copy of a request with its values as JSON has them, so that a later change of the caller's objects changes neither
 * the log nor the turn. Throws `unprocessable` for a value that JSON cannot hold, `too_large` for one that is too large.
 */
export function copyRequest(agent: string, request: Request): Request {
  if (OWNED.has(request)) return request;
  const copy: { [field: string]: unknown } = { ...request };
  for (const [field, limitBytes] of VALUES) {
    const value = copy[field];
    if (typeof value === "string" || (value === undefined && field !== "input")) continue;
    copy[field] =
      copyPlain(value, PLAIN_LIMIT_BYTES) ?? toJson(value, nameOf(field, agent, request), limitBytes);
  }
  return copy as unknown as Request;
}

/** Says that no other code has the values of a request, so that `copyRequest` returns it without a copy. */
export function ownRequest(request: Request): Request {
  OWNED.add(request);
  return request;
}

const OWNED = new WeakSet<Request>();

/** The fields of requests whose values have parts, with their limits in bytes; others are checked where they are used. */
const VALUES: readonly (readonly [string, number])[] = [
  ["input", INPUT_LIMIT_BYTES],
  ["body", INPUT_LIMIT_BYTES],
  ["request_keys", Infinity],
  ["args", Infinity],
  ["request_metadata", Infinity],
  ["attachments", Infinity],
  ["tools", INPUT_LIMIT_BYTES],
  ["caller", Infinity],
  ["hops", Infinity],
  ["trace", Infinity],
];

/** A larger value is copied through its JSON text. */
const PLAIN_LIMIT_BYTES = INPUT_LIMIT_BYTES;

function nameOf(field: string, agent: string, request: Request): string {
  if (field === "input" && request.type === "OperationRequest")
    return `the input of ${agent}.${request.operation}`;
  if (field === "body" && request.type === "Message")
    return `the body of message ${request.name} of ${agent}`;
  if (field === "request_keys") return "the answer";
  return `the ${field} of a request to ${agent}`;
}
