/** How a turn ended. */
export type FinishReason = "success" | "error" | "canceled";

/** All reasons for a turn to end with `error`. */
export const TURN_ERROR_CODES = [
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
export type TurnErrorCode = (typeof TURN_ERROR_CODES)[number];

/** All reasons for a call to fail. */
export const TOOL_ERROR_CODES = [
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
export type ToolErrorCode = (typeof TOOL_ERROR_CODES)[number];

/** The reasons for a completion to fail that are not the model's fault. */
export const COMPLETION_ERROR_CODES = ["timeout", "overloaded"] as const;

export type CompletionErrorCode = (typeof COMPLETION_ERROR_CODES)[number];
