import type { ToolErrorCode, TurnErrorCode } from "./protocol/events/outcome-codes.ts";
import type { Issue } from "./protocol/schema/check-json.ts";
import type { ProblemCode } from "./protocol/answers/problem.ts";

/** The kind of a failed call of an agent, a tool, an effect or a model, as the log has it. */
export type CallErrorCode = ToolErrorCode | "model_error";

/**
 * The kind of an error; callers branch on it. Each wire format has its own table from the problem codes to its
 * statuses. `call_failed` is the failure of a request to another server. A client gets the code of a failed turn, and
 * `waiting` for a turn that waits for an answer.
 */
export type ErrorCode = ProblemCode | CallErrorCode | TurnErrorCode | "call_failed" | "waiting";

/** The call of a turn that failed. */
export interface FailedCall {
  /** The called agent or tool, the effect or the model, by its name in the log. */
  readonly agent: string;
  /** The called operation of an agent or a tool. */
  readonly operation?: string;
  readonly callId: string;
}

/** Optional parts of an error besides its message; all but `cause` are shown to the caller. */
export interface ErrorDetails {
  /** What to do about it, in one sentence. */
  readonly hint?: string;
  readonly issues?: readonly Issue[];
  /** Delay before a retry, in seconds. */
  readonly retryAfterS?: number | undefined;
  /** Facts for programs, for example the open questions of a wait. */
  readonly facts?: Readonly<Record<string, unknown>>;
  /** Set only for the failure of a call, which agent code gets. */
  readonly call?: FailedCall;
  /** Only for our logs; never leaves the process. */
  readonly cause?: unknown;
}

/** The project's one error class: a code for programs and a message that names the thing and the fact. */
export class AgentError extends Error {
  override readonly name = "AgentError";
  readonly code: ErrorCode;
  readonly details: Omit<ErrorDetails, "call" | "cause">;
  /** For a failed call: the called agent or tool, the effect or the model, by its name in the log. */
  readonly agent: string | undefined;
  /** For a failed call of an agent or a tool: the called operation. */
  readonly operation: string | undefined;
  /** For a failed call: its id in the log. */
  readonly callId: string | undefined;

  constructor(code: ErrorCode, message: string, { cause, call, ...details }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
    this.agent = call?.agent;
    this.operation = call?.operation;
    this.callId = call?.callId;
  }
}

/**
 * Turns a thrown value into an AgentError that a client may see. Any other value becomes `internal`, with the
 * value as its cause; so does the failure of a call, whose message is for the code of its turn only.
 */
export function toAgentError(thrown: unknown): AgentError {
  if (isInstance(thrown, AgentError) && thrown.callId === undefined) return thrown;
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
