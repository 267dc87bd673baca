import { AgentError } from "../../errors.ts";
import type { QueueOptions } from "../../ports/model.ts";
import type { SupervisorStrategy } from "../../protocol/actors.ts";
import type { ToolErrorCode } from "../../protocol/events/outcome-codes.ts";
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
export interface CallOptions extends TimeoutOption {
  /** Calls again if the call fails. Each attempt is a ToolCall with its own time limit. Default: no retry. */
  readonly retry?: RetryOptions;
}

/** How often and after which failures a call is made again. */
export interface RetryOptions {
  /** Maximum number of attempts, with the first: 1 to 100. */
  readonly attempts: number;
  /**
   * The pause before the second attempt, in milliseconds; doubled for each further one, up to an hour. Default 500.
   */
  readonly backoffMs?: number;
  /**
   * The failures after which the call is made again. Default for an idempotent tool or effect: `tool_error`, `timeout`,
   * `interrupted` and `overloaded`; otherwise `overloaded`, because only then the callee surely did nothing.
   */
  readonly on?: readonly RetryCode[];
}

/** How a completion is tried again while its model is away. Each default is a limit of the runtime. */
export interface ModelRetryOptions {
  /** For how long, in milliseconds from its first attempt; 0 for a single attempt. Default: 24 hours. */
  readonly forMs?: number;
  /** The pause after the first failed attempt, in milliseconds; doubled for each further one. Default 500. */
  readonly minMs?: number;
  /** The longest pause, in milliseconds, unless the provider asks for a longer one. Default one minute. */
  readonly maxMs?: number;
}

/** The failures that a second attempt cannot change. */
const FINAL = [
  "invalid_input",
  "canceled",
  "would_deadlock",
  "too_deep",
  "gone",
  "stopped",
  "model_denied",
  "context_overflow",
  "model_refused",
  "model_rejected",
] as const;

/** A failure after which a call can be made again. */
export type RetryCode = Exclude<ToolErrorCode, (typeof FINAL)[number]>;

/** Options of `turn.effect`. */
export interface EffectOptions extends CallOptions {
  /** Whether it may run again if a crash leaves its outcome unknown; default `unsafe`. */
  readonly effect?: Effect;
}

/** How a call is retried, with all defaults. */
export interface RetryPolicy {
  readonly attempts: number;
  /** Only the failures within this time count; absent: all of the call. */
  readonly withinMs?: number;
  readonly backoffMs: number;
  readonly on: ReadonlySet<RetryCode>;
}

/** The pause before the second attempt, in milliseconds, where the options do not say it. */
export const DEFAULT_BACKOFF_MS = 500;

/** The largest number of attempts that options can say. */
export const MOST_ATTEMPTS = 100;

/** The longest time limit, a year in milliseconds: its deadline can always be written as a timestamp. */
const LONGEST_MS = 365 * 24 * 3_600_000;

const IDEMPOTENT: ReadonlySet<RetryCode> = new Set(["tool_error", "timeout", "interrupted", "overloaded"]);
const OTHERS: ReadonlySet<RetryCode> = new Set(["overloaded"]);

/** The codes in the order in which errors list them; the compiler checks that none is missing. */
const RETRY_CODES: Readonly<Record<RetryCode, true>> = {
  tool_error: true,
  timeout: true,
  interrupted: true,
  overloaded: true,
  unavailable: true,
  too_large: true,
  not_accepted: true,
  model_unavailable: true,
};

/** The policy of a call; `undefined` if it is made once. */
export function toRetryPolicy(retry: RetryOptions | undefined, effect: Effect): RetryPolicy | undefined {
  if (retry === undefined || retry.attempts === 1) return undefined;
  const { attempts, backoffMs = DEFAULT_BACKOFF_MS, on } = retry;
  return { attempts, backoffMs, on: on ? new Set(on) : effect === "idempotent" ? IDEMPOTENT : OTHERS };
}

/** The policy of a call of an agent that is restarted whenever it fails, if a second attempt can change that. */
export function toRestartPolicy({
  attempts,
  within_ms,
  backoff_ms,
}: SupervisorStrategy): RetryPolicy | undefined {
  if (attempts === 1) return undefined;
  const on = new Set(Object.keys(RETRY_CODES) as RetryCode[]);
  return { attempts, backoffMs: backoff_ms, on, ...(within_ms !== undefined && { withinMs: within_ms }) };
}

/** Throws `invalid_request` for options of a call that cannot be; `place` names the callee and the caller. */
export function checkCallOptions(options: CallOptions, place: string): void {
  checkTimeoutOption(options, place);
  const { retry } = options;
  if (retry === undefined) return;
  if (typeof retry !== "object" || retry === null)
    throw wrong("retry", place, retry, "an object {attempts, backoffMs, on}");
  const { attempts, backoffMs = 0, on = [] } = retry;
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > MOST_ATTEMPTS)
    throw wrong("retry.attempts", place, attempts, `a whole number from 1 to ${MOST_ATTEMPTS}`);
  if (backoffMs !== 0 && !isDuration(backoffMs))
    throw wrong("retry.backoffMs", place, backoffMs, `a number of milliseconds from 0 to ${LONGEST_MS}`);
  const known = Object.keys(RETRY_CODES);
  if (!Array.isArray(on) || on.some((code: unknown) => !known.includes(code as string)))
    throw wrong("retry.on", place, on, `a list of these: ${known.join(", ")}`);
}

/** Throws `invalid_request` for options of `turn.effect` that cannot be; `place` names the effect and its caller. */
export function checkEffectOptions(options: EffectOptions, place: string): void {
  checkCallOptions(options, place);
  const { effect } = options;
  if (effect === undefined || effect === "idempotent" || effect === "unsafe") return;
  throw wrong("effect", place, effect, `"idempotent" or "unsafe"`);
}

/** Throws `invalid_request` for a time limit that cannot be; `place` names what it is for. */
export function checkTimeoutOption({ timeoutMs }: TimeoutOption, place: string): void {
  if (timeoutMs === undefined || isDuration(timeoutMs)) return;
  throw wrong(
    "timeoutMs",
    place,
    timeoutMs,
    `a number of milliseconds, more than 0 and at most ${LONGEST_MS}`,
  );
}

/** The same for the time limits and retries of a completion. */
export function checkCompletionOptions(
  options: TimeoutOption & {
    readonly retry?: ModelRetryOptions;
    readonly firstTokenMs?: number;
    readonly idleMs?: number;
  },
  place: string,
): void {
  checkTimeoutOption(options, place);
  checkModelRetry(options.retry, place);
  for (const name of ["firstTokenMs", "idleMs"] as const) {
    const ms = options[name];
    if (ms !== undefined && !isDuration(ms))
      throw wrong(name, place, ms, `a number of milliseconds, more than 0 and at most ${LONGEST_MS}`);
  }
}

/** The same for the retries of a completion. */
function checkModelRetry(retry: ModelRetryOptions | undefined, place: string): void {
  if (retry === undefined) return;
  if (typeof retry !== "object" || retry === null)
    throw wrong("retry", place, retry, "an object {forMs, minMs, maxMs}");
  for (const name of ["forMs", "minMs", "maxMs"] as const) {
    const ms = retry[name];
    if (ms === undefined || isDuration(ms) || (name === "forMs" && ms === 0)) continue;
    throw wrong(`retry.${name}`, place, ms, `a number of milliseconds, at most ${LONGEST_MS}`);
  }
}

/** Throws `invalid_request` for the limits of a tool or a model that cannot be. */
export function checkQueueOptions({ concurrency, rate }: QueueOptions, place: string): void {
  if (concurrency !== undefined && !isCount(concurrency))
    throw wrong("concurrency", place, concurrency, "a whole number, 1 or more");
  if (rate === undefined) return;
  if (typeof rate !== "object" || rate === null) throw wrong("rate", place, rate, "an object {limit, perMs}");
  if (!isCount(rate.limit)) throw wrong("rate.limit", place, rate.limit, "a whole number, 1 or more");
  if (!isDuration(rate.perMs))
    throw wrong(
      "rate.perMs",
      place,
      rate.perMs,
      `a number of milliseconds, more than 0 and at most ${LONGEST_MS}`,
    );
}

/** The limits among the options of a tool or a model, checked. */
export function toQueueOptions(options: QueueOptions, place: string): QueueOptions {
  checkQueueOptions(options, place);
  const { concurrency, rate } = options;
  return { ...(concurrency !== undefined && { concurrency }), ...(rate && { rate }) };
}

/** Throws `invalid_request` for an agent with limits of a tool: agents that wait for each other would never end. */
export function checkNoQueue(options: object, agent: string): void {
  const option = ["concurrency", "rate"].find((name) => name in options);
  if (option === undefined) return;
  throw new AgentError(
    "invalid_request",
    `agent ${agent} has the option ${option}, which is for tools and models; limit the tools and the model that it uses`,
  );
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

/** Whether a value is a number of milliseconds that an option can have. */
export function isDuration(value: unknown): boolean {
  return typeof value === "number" && value > 0 && value <= LONGEST_MS;
}

function wrong(option: string, place: string, value: unknown, expected: string): AgentError {
  return new AgentError("invalid_request", `the ${option} of ${place} is ${show(value)}; use ${expected}`);
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}
