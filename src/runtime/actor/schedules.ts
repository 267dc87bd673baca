import { AgentError } from "../../errors.ts";
import { ownerOf } from "../../ports/principal.ts";
import type { ScheduleSummary } from "../../protocol/answers/schedule.ts";
import type { Json } from "../../protocol/json.ts";
import { checkAddress, toActorAddress } from "../agent/actor-address.ts";
import type { ActorAddress } from "../agent/actor-address.ts";
import {
  SCHEDULE,
  checkScheduleId,
  toNewSchedule,
  toScheduledId,
  toScheduleSummary,
} from "../journal/stored-schedule.ts";
import type { NewSchedule, ScheduleBody } from "../journal/stored-schedule.ts";
import { TIMER_AGENT } from "../agent/definition/timer-agent.ts";
import type { TimedRequest } from "../agent/definition/timer-agent.ts";
import { checkTold } from "../agent/resolve-operation.ts";
import type { MadeSchedule, ScheduledTime, ToldRequest } from "../agent/turn-api.ts";
import { digest } from "../../shared/digest.ts";
import { INPUT_LIMIT_BYTES, toJson } from "../journal/json-limits.ts";
import { effect } from "./calls.ts";
import { tell } from "./requests.ts";
import type { Sequence } from "./sequence.ts";

/** Has an actor told something at times. */
export async function schedule(
  sequence: Sequence,
  address: ActorAddress,
  operation: string,
  input: unknown,
  when: ScheduledTime,
): Promise<MadeSchedule> {
  checkPlace(address, "turn.schedule");
  const { agent } = address;
  checkTold(agent, operation);
  // It is unique in the run, because this call takes the next position of its scope.
  const seed = [digest(`${sequence.actor.turn.runId} ${sequence.scope.callId}`)];
  const given = {
    operation,
    input: toJson(input, `the input of ${agent.name}`, INPUT_LIMIT_BYTES - TIMES_BYTES),
    seed,
  };
  const { id, ...made } = toNewSchedule(given, when, "turn.schedule", () => sequence.now());
  // Nothing is awaited before, because the steps of a turn take their places when it makes them.
  const timed = tellTimer(sequence, address, made);
  if (timed) return { id, requestId: (await timed).requestId };
  const body: ScheduleBody = { on: true, id, ...made };
  await tell(sequence, address, SCHEDULE, body, {});
  const { times } = made;
  return { id, ...("at" in times && { requestId: toScheduledId(made, times.at) }) };
}

/**
 * In a turn that an earlier version of the runtime has begun, a time that comes once was told to the timer agent. Tells it again as the log
 * has it; `undefined` if the log has no such step here.
 */
function tellTimer(
  sequence: Sequence,
  { agent, key, runId }: ActorAddress,
  { operation, input, times }: NewSchedule,
): Promise<ToldRequest> | undefined {
  const { actor, scope } = sequence;
  if (!("at" in times) || scope.upcoming?.startsWith(`tell ${TIMER_AGENT}/`) !== true) return undefined;
  const { turn } = actor;
  const timerKey = `timer-${digest(`${turn.runId} ${scope.callId}`)}`;
  const place = key === undefined ? { run_id: runId ?? "" } : { key };
  const request: TimedRequest = { at: times.at, agent: agent.name, ...place, operation, input };
  const timer = toActorAddress(turn.context.agents.timer, timerKey);
  return tell(sequence, timer, "send", request, {});
}

/** Removes a schedule of an actor. */
export async function unschedule(sequence: Sequence, address: ActorAddress, id: string): Promise<void> {
  checkPlace(address, "turn.unschedule");
  checkScheduleId(id);
  const body: ScheduleBody = { on: false, id };
  await tell(sequence, address, SCHEDULE, body, {});
}

/** The schedules of an actor; equal on replay. */
export function schedules(sequence: Sequence, address: ActorAddress): Promise<Json> {
  checkPlace(address, "turn.schedules");
  const { turn } = sequence.actor;
  const { log, limits } = turn.context;
  const { agent, key } = address;
  const owner = ownerOf(turn.accepted);
  const read = async (): Promise<readonly ScheduleSummary[]> => {
    const runId =
      address.runId ??
      (key === undefined ? undefined : await log.find({ owner, agent: agent.name, name: key }));
    if (runId === undefined) return [];
    const page = await log.schedules({ runId, owner, agent: agent.name, limit: limits.schedules });
    return page.schedules.map((entry) => toScheduleSummary(entry, { agent: agent.name, alias: key }));
  };
  return effect(sequence, "schedules", read, { effect: "idempotent" });
}

/** The size of a schedule without its input. */
const TIMES_BYTES = 1_024;

function checkPlace(address: ActorAddress, what: string): void {
  checkAddress(address, what);
  if (address.agent.remote === undefined) return;
  throw new AgentError(
    "invalid_request",
    `${what} cannot reach ${address.agent.name}, which is on another server`,
  );
}
