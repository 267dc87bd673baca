import { AgentError } from "../../../errors.ts";
import type { ActorAddress } from "../../agent/actor-address.ts";
import type { Agent } from "../../agent/agent.ts";
import { CHAT } from "../../agent/agent.ts";
import { isMessageName, operationNames } from "../../agent/resolve-operation.ts";
import type { TimedRequest } from "../../agent/definition/timer-agent.ts";
import type { ScheduledTime } from "../../agent/turn-api.ts";
import { INPUT_LIMIT_BYTES, toJson } from "../../journal/json-limits.ts";

/** Makes the request that the timer agent sends at a time. */
export function toTimedRequest(
  { agent, key, runId }: ActorAddress,
  operation: string,
  input: unknown,
  at: number,
): TimedRequest {
  checkTold(agent, operation);
  const body = toJson(input, `the input of ${agent.name}`, INPUT_LIMIT_BYTES - PLACE_BYTES);
  const place = key === undefined ? { run_id: runId ?? "" } : { key };
  return { at, agent: agent.name, ...place, operation, input: body };
}

/** The time of a scheduled request, in milliseconds since 1970. */
export function toTime({ at, afterMs }: ScheduledTime, now: () => number): number {
  if (afterMs !== undefined) {
    if (Number.isFinite(afterMs) && afterMs >= 0) return now() + afterMs;
    throw new TypeError("the afterMs of turn.schedule must be milliseconds, 0 or more");
  }
  const time = Number(at);
  if (Number.isFinite(time)) return time;
  throw new TypeError("turn.schedule needs a time: `at` or `afterMs`");
}

/** The size of a timed request without its input. */
const PLACE_BYTES = 1_024;

/** Throws `not_found` unless an agent can be told something with this name. It would fail too late otherwise. */
function checkTold(agent: Agent, name: string): void {
  const isKnown = name === CHAT || Object.hasOwn(agent.operations, name) || isMessageName(agent, name);
  if (isKnown || agent.remote) return;
  const names = [...operationNames(agent), ...Object.keys(agent.messages ?? {})];
  throw new AgentError("not_found", `agent ${agent.name} has no operation or message ${name}`, {
    hint: `it has ${names.join(", ")}`,
  });
}
