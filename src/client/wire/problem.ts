import { AgentError } from "../../errors.ts";
import type { ErrorCode } from "../../errors.ts";
import type { Issue } from "../../protocol/schema/check-json.ts";
import { isObject } from "../../protocol/json.ts";

/** Converts a problem document to an error. */
export function fromProblem(subject: string, status: number, headers: Headers, body: unknown): AgentError {
  const problem = (isObject(body) ? body : {}) as Readonly<Record<string, unknown>>;
  const { type: _type, title: _title, status: _status, code, detail, hint, errors, ...facts } = problem;
  const said = typeof detail === "string" && detail !== "" ? cut(detail) : `HTTP ${status}`;
  const issues = Array.isArray(errors) ? errors.filter(isIssue).slice(0, ISSUES) : [];
  return new AgentError(codeOf(status, code), `${subject} refused: ${said}`, {
    ...(typeof hint === "string" && { hint: cut(hint) }),
    ...(issues.length > 0 && { issues }),
    retryAfterS: secondsOf(headers),
    ...(Object.keys(facts).length > 0 && { facts }),
  });
}

/** Whether a thrown value is an AgentError with one of the codes. */
export function hasCode(thrown: unknown, ...codes: readonly ErrorCode[]): thrown is AgentError {
  return thrown instanceof AgentError && codes.includes(thrown.code);
}

/** Gives `undefined` for what a server does not have; throws any other failure. */
export function unlessMissing(thrown: unknown): undefined {
  if (!hasCode(thrown, "not_found", "method_not_allowed")) throw thrown;
}

/** Whether the same request may succeed later. */
export function isRetryable(thrown: unknown): thrown is AgentError {
  return hasCode(thrown, "unavailable", "timeout", "overloaded", "request_timeout", "internal");
}

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
  408: "request_timeout",
  409: "conflict",
  410: "gone",
  413: "too_large",
  415: "unsupported_media_type",
  421: "misdirected",
  422: "unprocessable",
  429: "overloaded",
  500: "internal",
  504: "timeout",
  507: "insufficient_storage",
};

const ISSUES = 20;
const TEXT_LIMIT = 500;
const LONGEST_S = 3_600;

function codeOf(status: number, code: unknown): ErrorCode {
  // These share the status 403 or 409 with others; for all other refusals the status says enough.
  const said = ["run_full", "too_deep", "not_accepted", "stopped", "not_an_approver"].includes(
    code as string,
  );
  return (
    (said ? (code as ErrorCode) : BY_STATUS[status]) ?? (status >= 500 ? "unavailable" : "invalid_request")
  );
}

function secondsOf(headers: Headers): number | undefined {
  const value = headers.get("retry-after") ?? "";
  return /^\d{1,6}$/.test(value) ? Math.min(Number(value), LONGEST_S) : undefined;
}

function isIssue(value: unknown): value is Issue {
  return isObject(value) && typeof value["path"] === "string" && typeof value["message"] === "string";
}

function cut(text: string): string {
  return text.length <= TEXT_LIMIT ? text : `${text.slice(0, TEXT_LIMIT)}…`;
}
