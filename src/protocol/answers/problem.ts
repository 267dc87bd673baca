import type { Issue } from "../schema/check-json.ts";

/** The kind of a problem, for programs to branch on; a closed list. */
export type ProblemCode =
  | "invalid_request"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "request_timeout"
  | "conflict"
  | "gone"
  | "too_large"
  | "unsupported_media_type"
  | "misdirected"
  | "unprocessable"
  | "overloaded"
  | "run_full"
  | "too_deep"
  | "would_deadlock"
  | "not_accepted"
  | "internal"
  | "unavailable"
  | "timeout"
  | "insufficient_storage";

/** The body of every refusal (RFC 9457). It can have more fields. */
export interface Problem {
  /** `about:blank`: the status says what kind of problem it is. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ProblemCode;
  /** Names the thing and the fact. */
  readonly detail: string;
  /** How to fix it. */
  readonly hint?: string;
  /** Each fault of the request. */
  readonly errors?: readonly Issue[];
}
