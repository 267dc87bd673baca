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

/** Makes an AgentError of a thrown value; one that is none becomes `internal`, with the value as its cause. */
export function toAgentError(thrown: unknown): AgentError {
  if (isInstance(thrown, AgentError)) return thrown;
  return new AgentError("internal", "an unexpected error occurred", { cause: thrown });
}

/**
 * The text of a thrown value: its message, or the value itself where it is a string or a number; empty where there
 * is neither. It never throws, because agent code throws values whose getters throw, revoked proxies too.
 */
export function messageOf(thrown: unknown): string {
  switch (typeof thrown) {
    case "object":
    case "function": {
      const message = fieldOf(thrown, "message");
      return typeof message === "string" ? message : "";
    }
    case "undefined":
      return "";
    default:
      return String(thrown);
  }
}

/** A field of a thrown value; `undefined` where it has none or does not let it be read. */
export function fieldOf(thrown: unknown, name: string): unknown {
  try {
    return (thrown as { readonly [name: string]: unknown } | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}

/** `instanceof` for a thrown value: false where the value is a proxy that throws at the question. */
export function isInstance<Thing>(
  thrown: unknown,
  type: abstract new (...args: never[]) => Thing,
): thrown is Thing {
  try {
    return thrown instanceof type;
  } catch {
    return false;
  }
}
