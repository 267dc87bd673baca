/** How a turn ended. */
export type FinishReason = "success" | "error" | "canceled";

/**
 * Why a model gave no answer, where its provider says so: it is away or busy, it does not accept the key, the prompt is too
 * long, a content filter blocked it, or the request is wrong. Only the first may pass.
 */
export const MODEL_ERROR_CODES = [
  "model_unavailable",
  "model_denied",
  "context_overflow",
  "model_refused",
  "model_rejected",
] as const;

/** Why a model gave no answer. */
export type ModelErrorCode = (typeof MODEL_ERROR_CODES)[number];

/** Whether a code says why a model gave no answer. */
export function isModelCode(code: unknown): code is ModelErrorCode {
  return (MODEL_ERROR_CODES as readonly unknown[]).includes(code);
}

const TURN_CODES = [
  "agent_error",
  "nondeterministic",
  "interrupted",
  "poisoned",
  "agent_crashed",
  "timeout",
  "budget",
  "overloaded",
  "unsupported_input",
  "version_mismatch",
  "not_accepted",
  "canceled",
] as const;

/** The kind of a failed turn, in its RequestCompleted. */
export type TurnErrorCode = (typeof TURN_CODES)[number] | ModelErrorCode;

/** All reasons for a turn to end with `error`. */
export const TURN_ERROR_CODES: readonly TurnErrorCode[] = [...TURN_CODES, ...MODEL_ERROR_CODES];

const TOOL_CODES = [
  "tool_error",
  "invalid_input",
  "interrupted",
  "canceled",
  "timeout",
  "overloaded",
  "unavailable",
  "gone",
  "too_large",
  "too_deep",
  "would_deadlock",
  "not_accepted",
] as const;

/** The kind of a failed call, in its ToolError. */
export type ToolErrorCode = (typeof TOOL_CODES)[number] | ModelErrorCode;

/** All reasons for a call to fail. */
export const TOOL_ERROR_CODES: readonly ToolErrorCode[] = [...TOOL_CODES, ...MODEL_ERROR_CODES];

const COMPLETION_CODES = ["timeout", "overloaded", "interrupted"] as const;

/** The kind of a failed completion, in its CompletionResult. */
export type CompletionErrorCode = (typeof COMPLETION_CODES)[number] | ModelErrorCode;

/** The reasons for a completion to fail that programs can tell apart. */
export const COMPLETION_ERROR_CODES: readonly CompletionErrorCode[] = [
  ...COMPLETION_CODES,
  ...MODEL_ERROR_CODES,
];
