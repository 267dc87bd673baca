import { AgentError } from "../../../errors.ts";
import { STRATEGY_ENDS } from "../../../protocol/actors.ts";
import type { SupervisorStrategy } from "../../../protocol/actors.ts";
import { isObject } from "../../../protocol/json.ts";
import { DEFAULT_BACKOFF_MS, MOST_ATTEMPTS, isDuration } from "../call-options.ts";

/** What an agent does about the failures of the agents that it calls, asks, tells or watches. */
export interface Supervision {
  /** What it is for: turns and calls that end with an error. */
  readonly on: "error";
  /** Does again what has failed, with the memory that the other had before it. Default: no restart. */
  readonly restart?: RestartOptions;
  /**
   * What follows the last failure. `escalate`: the own turn fails with the error, also if its code catches it. `stop`: the
   * actor refuses further requests with `stopped` until it is resumed; a called agent, which is no actor of its own, has ended
   * anyway.
   */
  readonly then: "escalate" | "stop";
}

/** How often something that has failed is done again. */
export interface RestartOptions {
  /** The most attempts, with the first: 1 to 100. */
  readonly attempts: number;
  /**
   * Only the restarts within this time count, in milliseconds: those of all requests of an actor, and those of one call of a
   * called agent. Default: those of the request or call, whenever they were.
   */
  readonly withinMs?: number;
  /** The pause before the first restart, in milliseconds; doubled for each further one, up to an hour. Default 500. */
  readonly backoffMs?: number;
}

/** Throws `invalid_request` for a supervision that is not one; `agent` is the agent that it belongs to. */
export function checkSupervision(value: unknown, agent: string): void {
  const refuse = (fact: string): AgentError =>
    new AgentError("invalid_request", `the supervise of agent ${agent} ${fact}`);
  if (!isObject(value)) throw refuse("is not an object {on, restart, then}");
  const { on, restart, then, ...others } = value as Record<string, unknown>;
  checkNoOther(others, "on, restart and then", refuse);
  if (on !== "error") throw refuse(`has the value ${show(on)} for on; use "error"`);
  if (!STRATEGY_ENDS.some((each) => each === then))
    throw refuse(`has the value ${show(then)} for then; use "escalate" or "stop"`);
  if (restart === undefined) return;
  if (!isObject(restart)) throw refuse("has a restart that is not an object {attempts, withinMs, backoffMs}");
  const { attempts, withinMs, backoffMs = 0, ...more } = restart as Record<string, unknown>;
  checkNoOther(more, "attempts, withinMs and backoffMs in restart", refuse);
  if (!Number.isInteger(attempts) || (attempts as number) < 1 || (attempts as number) > MOST_ATTEMPTS)
    throw refuse(`has ${show(attempts)} attempts; use a whole number from 1 to ${MOST_ATTEMPTS}`);
  if (withinMs !== undefined && !isDuration(withinMs))
    throw refuse(`has the withinMs ${show(withinMs)}; use a number of milliseconds, more than 0`);
  if (backoffMs !== 0 && !isDuration(backoffMs))
    throw refuse(`has the backoffMs ${show(backoffMs)}; use a number of milliseconds, 0 or more`);
}

/** A supervision as the actors get it that are supervised. */
export function toStrategy({ restart, then }: Supervision): SupervisorStrategy {
  const { attempts = 1, withinMs, backoffMs = DEFAULT_BACKOFF_MS } = restart ?? {};
  return { attempts, ...(withinMs !== undefined && { within_ms: withinMs }), backoff_ms: backoffMs, then };
}

function checkNoOther(others: object, known: string, refuse: (fact: string) => AgentError): void {
  const unknown = Object.keys(others);
  if (unknown.length > 0) throw refuse(`has an option ${unknown.join(", ")}; it takes ${known}`);
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}
