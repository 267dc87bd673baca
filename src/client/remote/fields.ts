import { COMPLETION_ERROR_CODES, TOOL_ERROR_CODES } from "../../protocol/events/outcome-codes.ts";
import { TIMESTAMP_PATTERN } from "../../protocol/ids.ts";
import type { Usage, CompletionErrorCode, ToolErrorCode } from "../../protocol/events/outcome-codes.ts";
import { checkText } from "../../runtime/journal/json-limits.ts";

/** Maximum length of a remote name. */
export const NAME_LIMIT = 256;

/** Converts a value to text; throws `too_large` if it does not fit into a local event. */
export function toLimitedText(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  checkText(text);
  return text;
}

export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** A name of acceptable length, or the default. */
export function toName(value: unknown, other: string): string {
  return typeof value === "string" && value !== "" ? value.slice(0, NAME_LIMIT) : other;
}

/** A whole number that is at least the minimum. */
export function toOrdinal(value: unknown, least: number): number {
  return Number.isSafeInteger(value) ? Math.max(value as number, least) : least;
}

/** The token usage of a completion, as far as it is reported. */
export function toUsage(value: unknown): Usage {
  const {
    input_tokens: input,
    cached_input_tokens: cached,
    output_tokens: output,
    reasoning_tokens: reasoning,
    cost,
    interrupted_attempts: interrupted,
  } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...(isCount(input) && { input_tokens: input }),
    ...(isCount(cached) && { cached_input_tokens: cached }),
    ...(isCount(reasoning) && { reasoning_tokens: reasoning }),
    ...(isCount(output) && { output_tokens: output }),
    ...(isCost(cost) && { cost }),
    ...(isCount(interrupted) && { interrupted_attempts: interrupted }),
  };
}

/** Higher costs are not plausible; with this limit, sums stay exact numbers. */
const COST_LIMIT = 1e9;

function isCost(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= COST_LIMIT;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isCompletionCode(code: unknown): code is CompletionErrorCode {
  return (COMPLETION_ERROR_CODES as readonly unknown[]).includes(code);
}

/** Whether a value is a time in UTC as the protocol writes it. */
export function isTimestamp(value: unknown): value is string {
  return typeof value === "string" && TIMESTAMP_PATTERN.test(value) && !Number.isNaN(Date.parse(value));
}

export function isToolCode(code: unknown): code is ToolErrorCode {
  return (TOOL_ERROR_CODES as readonly unknown[]).includes(code);
}
