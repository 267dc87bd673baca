import { AgentError } from "../../../errors.ts";
import type { ErrorCode } from "../../../errors.ts";

/** The gRPC status codes that this adapter uses. */
export const STATUS = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

/** A gRPC status other than OK; `details` is the text that the caller gets. */
export class CallStatus extends Error {
  override readonly name = "CallStatus";
  readonly code: number;
  readonly details: string;

  constructor(code: number, details: string) {
    super(details);
    this.code = code;
    this.details = details;
  }
}

/** The status for a thrown value. A status of another node is passed through; internal errors are not shown. */
export function toCallStatus(thrown: unknown): CallStatus {
  if (thrown instanceof CallStatus) return thrown;
  if (thrown instanceof AgentError) {
    const { hint } = thrown.details;
    const text = hint === undefined ? thrown.message : `${thrown.message}; ${hint}`;
    return new CallStatus(STATUS_OF[thrown.code] ?? STATUS.internal, text);
  }
  const { code, details } = (thrown ?? {}) as { readonly code?: unknown; readonly details?: unknown };
  if (typeof code === "number" && typeof details === "string") return new CallStatus(code, details);
  return new CallStatus(STATUS.internal, "an unexpected error occurred");
}

/** Whether a thrown value is a fault of this program: neither a refusal nor the status of another node. */
export function isOwnFault(thrown: unknown): boolean {
  if (thrown instanceof CallStatus) return false;
  if (thrown instanceof AgentError) return thrown.code === "internal";
  return typeof (thrown as { readonly code?: unknown } | null | undefined)?.code !== "number";
}

const STATUS_OF: { readonly [Code in ErrorCode]?: number } = {
  invalid_request: STATUS.invalidArgument,
  unprocessable: STATUS.invalidArgument,
  unsupported_media_type: STATUS.invalidArgument,
  not_found: STATUS.notFound,
  gone: STATUS.notFound,
  forbidden: STATUS.permissionDenied,
  not_an_approver: STATUS.permissionDenied,
  conflict: STATUS.failedPrecondition,
  too_large: STATUS.resourceExhausted,
  too_deep: STATUS.resourceExhausted,
  overloaded: STATUS.resourceExhausted,
  insufficient_storage: STATUS.resourceExhausted,
  run_full: STATUS.resourceExhausted,
  timeout: STATUS.unavailable,
  unavailable: STATUS.unavailable,
};
