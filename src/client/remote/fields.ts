import { TOOL_ERROR_CODES } from "../../protocol/events.ts";
import type { ToolErrorCode, Usage } from "../../protocol/events.ts";
import { checkText } from "../../runtime/journal/json-limits.ts";

/** The longest name that is taken over from elsewhere. */
export const NAME_LIMIT = 256;

/** A text, or what comes nearest to one; throws `too_large` for one that no event here can hold. */
export function toText(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  checkText(text);
  return text;
}

/** Whether there is a value at all. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** A name of a bearable length, or the other one. */
export function toName(value: unknown, other: string): string {
  return typeof value === "string" && value !== "" ? value.slice(0, NAME_LIMIT) : other;
}

/** A whole number that is not below the least. */
export function toOrdinal(value: unknown, least: number): number {
  return Number.isSafeInteger(value) ? Math.max(value as number, least) : least;
}

/** What a completion cost, as far as it is said. */
export function toUsage(value: unknown): Usage {
  const {
    input_tokens: input,
    output_tokens: output,
    cost,
  } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...(isCount(input) && { input_tokens: input }),
    ...(isCount(output) && { output_tokens: output }),
    ...(isCost(cost) && { cost }),
  };
}

/** Beyond this nothing costs, in whatever currency; and sums of it stay numbers. */
const COST_LIMIT = 1e9;

function isCost(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= COST_LIMIT;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Whether a value is one of the codes with which calls fail. */
export function isToolCode(code: unknown): code is ToolErrorCode {
  return (TOOL_ERROR_CODES as readonly unknown[]).includes(code);
}
