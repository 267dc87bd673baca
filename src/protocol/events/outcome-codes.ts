export const FINISH_REASONS = ["success", "error", "canceled"] as const;

/** How a turn ended. */
export type FinishReason = (typeof FINISH_REASONS)[number];

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
  "agent_missing",
  "snapshot_mismatch",
  "not_accepted",
  "stopped",
  "canceled",
] as const;

/** The kind of a failed turn, in its RequestCompleted. */
export type TurnErrorCode = (typeof TURN_CODES)[number] | ModelErrorCode;

/** All reasons for a turn to end with `error`. */
export const TURN_ERROR_CODES: readonly TurnErrorCode[] = [...TURN_CODES, ...MODEL_ERROR_CODES];

/** Whether a code says why a turn ended with `error`. */
export function isTurnErrorCode(code: unknown): code is TurnErrorCode {
  return (TURN_ERROR_CODES as readonly unknown[]).includes(code);
}

/** The reasons for a turn to be held: no code that is served can continue it. */
export const HOLD_CODES = [
  "nondeterministic",
  "version_mismatch",
  "agent_missing",
  "snapshot_mismatch",
] as const;

export type HoldCode = (typeof HOLD_CODES)[number];

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
  "stopped",
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

/** The error of a turn, as its caller sees it. */
export interface TurnError {
  readonly code: TurnErrorCode;
  readonly message: string;
}

/** Why a turn is held: no code that is served can continue it. */
export interface HoldReason {
  readonly code: HoldCode;
  readonly message: string;
  /** The place in the turn where the code differs from the log, if it does. */
  readonly scope?: string;
  /** What the log has there. */
  readonly expected?: string;
  /** What the code does there. */
  readonly found?: string;
  /** The file and line of the agent's code, if they are known. */
  readonly at?: string;
}

/** Token usage of completions, as far as the model reports it. */
export interface Usage {
  readonly input_tokens?: number;
  /** Those of the input tokens that the provider had in its cache. */
  readonly cached_input_tokens?: number;
  readonly output_tokens?: number;
  /** Those of the output tokens that were reasoning. */
  readonly reasoning_tokens?: number;
  readonly cost?: number;
  /** Attempts that broke off before their usage was reported, which is not among the other figures. */
  readonly interrupted_attempts?: number;
}
