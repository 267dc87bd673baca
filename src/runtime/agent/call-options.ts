import { AgentError } from "../../errors.ts";
import type { Effect } from "./agent.ts";

/** The time limit of a call. */
export interface TimeoutOption {
  /**
   * The call fails with `timeout` after this time, in milliseconds: wall time from the ToolCall, with all time in
   * which it waits for its start or for people. The deadline is in the log and holds after a restart. Default: none.
   */
  readonly timeoutMs?: number;
}

/** Options of `turn.call` and `turn.tool`. A tool can have its own in its definition. */
export type CallOptions = TimeoutOption;

/** Options of `turn.effect`. */
export interface EffectOptions extends TimeoutOption {
  /** Whether it may run again if a crash leaves its outcome unknown; default `unsafe`. */
  readonly effect?: Effect;
}

/** A year: a date after the limit of a call can always be written. */
const LONGEST_MS = 365 * 24 * 3_600_000;

/** Throws `invalid_request` for options of a call that cannot be; `place` names the callee and the caller. */
export function checkCallOptions(options: CallOptions, place: string): void {
  checkTimeoutOption(options, place);
}

/** The same for `turn.effect`. */
export function checkEffectOptions(options: EffectOptions, place: string): void {
  checkTimeoutOption(options, place);
  const { effect } = options;
  if (effect === undefined || effect === "idempotent" || effect === "unsafe") return;
  throw wrong("effect", place, effect, `"idempotent" or "unsafe"`);
}

/** The same for everything that has a time limit. */
export function checkTimeoutOption({ timeoutMs }: TimeoutOption, place: string): void {
  if (timeoutMs === undefined || isDuration(timeoutMs)) return;
  throw wrong(
    "timeoutMs",
    place,
    timeoutMs,
    `a number of milliseconds, more than 0 and at most ${LONGEST_MS}`,
  );
}

function isDuration(value: unknown): boolean {
  return typeof value === "number" && value > 0 && value <= LONGEST_MS;
}

function wrong(option: string, place: string, value: unknown, expected: string): AgentError {
  return new AgentError("invalid_request", `the ${option} of ${place} is ${show(value)}; use ${expected}`);
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}
