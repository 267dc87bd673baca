import type { Issue } from "./issue.ts";

/** What kind of thing went wrong, for programs to branch on; a closed list. */
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
  | "internal"
  | "unavailable"
  | "timeout";

/** The body of every refusal, as RFC 9457 has it. It may carry further facts beside these fields. */
export interface Problem {
  /** `about:blank`: the status says what kind of problem it is. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ProblemCode;
  /** Names the thing and the fact. */
  readonly detail: string;
  /** What to do about it. */
  readonly hint?: string;
  /** What is wrong with the request, one by one. */
  readonly errors?: readonly Issue[];
}
