import type { Issue } from "./protocol/issue.ts";
import type { ProblemCode } from "./protocol/problem.ts";

/**
 * What kind of thing went wrong; callers branch on it. Each wire has its own table from these to its
 * statuses. `call_failed` is thrown to agent code alone, by a call that ended in an error.
 */
export type ErrorCode = ProblemCode | "call_failed";

/** What an error may carry beside its message; all but `cause` is shown to the caller. */
export interface ErrorDetails {
  /** What to do about it, in a sentence. */
  readonly hint?: string;
  readonly issues?: readonly Issue[];
  /** How long to wait before another try, in seconds. */
  readonly retryAfterS?: number;
  /** Facts for programs, such as the open questions of a wait. */
  readonly facts?: Readonly<Record<string, unknown>>;
  /** For our own logs; never leaves the process. */
  readonly cause?: unknown;
}

/** The one error of the project: a code for programs, a message that names the thing and the fact. */
export class AgentError extends Error {
  override readonly name = "AgentError";
  readonly code: ErrorCode;
  readonly details: Omit<ErrorDetails, "cause">;

  constructor(code: ErrorCode, message: string, { cause, ...details }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
  }
}

/** Turns whatever was thrown into an AgentError; what is not one becomes `internal`, its text kept as cause only. */
export function toAgentError(thrown: unknown): AgentError {
  if (thrown instanceof AgentError) return thrown;
  return new AgentError("internal", "an unexpected error occurred", { cause: thrown });
}
