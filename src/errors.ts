import type { Issue } from "./protocol/schema/issue.ts";
import type { ProblemCode } from "./protocol/answers/problem.ts";

/**
 * The kind of an error; callers branch on it. Each wire format has its own table from these codes to its
 * statuses. `call_failed` is thrown only to agent code, by a call that ended in an error.
 */
export type ErrorCode = ProblemCode | "call_failed";

/** Optional parts of an error beside its message; all but `cause` are shown to the caller. */
export interface ErrorDetails {
  /** What to do about it, in one sentence. */
  readonly hint?: string;
  readonly issues?: readonly Issue[];
  /** Delay before a retry, in seconds. */
  readonly retryAfterS?: number;
  /** Facts for programs, for example the open questions of a wait. */
  readonly facts?: Readonly<Record<string, unknown>>;
  /** Only for our logs; never leaves the process. */
  readonly cause?: unknown;
}

/** The project's one error class: a code for programs and a message that names the thing and the fact. */
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

/**
 * Turns a thrown value into an AgentError; any other value becomes `internal`, with the value as its cause.
 */
export function toAgentError(thrown: unknown): AgentError {
  if (isInstance(thrown, AgentError)) return thrown;
  return new AgentError("internal", "an unexpected error occurred", { cause: thrown });
}

/**
 * The text of a thrown value: its message, or the value itself if it is a string or a number, else empty.
 * Never throws, although agent code can throw values whose getters throw, or revoked proxies.
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

/** A field of a thrown value; `undefined` if there is none or reading it throws. */
export function fieldOf(thrown: unknown, name: string): unknown {
  try {
    return (thrown as { readonly [name: string]: unknown } | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}

/** `instanceof` for a thrown value: false if the value is a proxy that throws. */
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
