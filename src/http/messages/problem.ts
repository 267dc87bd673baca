import { toAgentError } from "../../errors.ts";
import type { ErrorCode } from "../../errors.ts";
import type { ProblemCode } from "../../protocol/answers/problem.ts";

/** A refusal as an HTTP answer. */
export interface ProblemReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** One line of JSON (RFC 9457). */
  readonly body: string;
}

/**
 * Converts any thrown value to a problem. A value that is not an AgentError only tells the caller that it
 * happened. `status` is for differences that HTTP knows and our codes do not.
 */
export function toProblem(
  thrown: unknown,
  own?: { readonly status: number; readonly title: string },
): ProblemReply {
  const { code, message, details } = toAgentError(thrown);
  const { hint, issues, retryAfterS = RETRY_AFTER_S[code], facts } = details;
  const { as = code, status, title } = { ...statusOf(code), ...own };
  const body = {
    ...facts,
    type: "about:blank",
    title,
    status,
    code: as,
    detail: as === code ? message : "an unexpected error occurred",
    ...(hint !== undefined && { hint }),
    ...(issues !== undefined && { errors: issues }),
    help: `npx troupe explain ${as}`,
  };
  return {
    status,
    headers: {
      ...(retryAfterS !== undefined && { "retry-after": String(Math.ceil(retryAfterS)) }),
      ...(code === "unauthorized" && { "www-authenticate": "Bearer" }),
    },
    body: `${JSON.stringify(body)}\n`,
  };
}

/** Whether a thrown value is a server fault, which the caller cannot fix. */
export function isFault(thrown: unknown): boolean {
  return statusOf(toAgentError(thrown).code).status === 500;
}

interface Status {
  readonly status: number;
  readonly title: string;
  /** The code on the wire, if it differs. */
  readonly as?: ErrorCode;
}

function statusOf(code: ErrorCode): Status {
  return STATUSES[code as ProblemCode] ?? ESCAPED;
}

const STATUSES: Readonly<Record<ProblemCode, Status>> = {
  invalid_request: { status: 400, title: "Bad Request" },
  unauthorized: { status: 401, title: "Unauthorized" },
  forbidden: { status: 403, title: "Forbidden" },
  not_an_approver: { status: 403, title: "Not an approver" },
  not_found: { status: 404, title: "Not Found" },
  method_not_allowed: { status: 405, title: "Method Not Allowed" },
  request_timeout: { status: 408, title: "Request Timeout" },
  conflict: { status: 409, title: "Conflict" },
  run_full: { status: 409, title: "Conflict" },
  too_deep: { status: 409, title: "Conflict" },
  would_deadlock: { status: 409, title: "Conflict" },
  not_accepted: { status: 409, title: "Conflict" },
  stopped: { status: 409, title: "Conflict" },
  gone: { status: 410, title: "Gone" },
  too_large: { status: 413, title: "Content Too Large" },
  unsupported_media_type: { status: 415, title: "Unsupported Media Type" },
  misdirected: { status: 421, title: "Misdirected Request" },
  unprocessable: { status: 422, title: "Unprocessable Content" },
  overloaded: { status: 429, title: "Too Many Requests" },
  internal: { status: 500, title: "Internal Server Error" },
  unavailable: { status: 503, title: "Service Unavailable" },
  timeout: { status: 504, title: "Gateway Timeout" },
  insufficient_storage: { status: 507, title: "Insufficient Storage" },
};

/** For the failure of a call or of a request to another server: its message is not for clients. */
const ESCAPED: Status = { status: 500, title: "Internal Server Error", as: "internal" };

/** The default delay before a retry. */
const RETRY_AFTER_S: Partial<Record<ErrorCode, number>> = { overloaded: 1, unavailable: 1 };
