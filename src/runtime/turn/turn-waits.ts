import { AgentError } from "../../errors.ts";
import type { Environment } from "../../ports/environment.ts";
import type { By } from "../../protocol/actors.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import type { EventBody } from "../../protocol/events/event-body.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { checkWith } from "../agent/definition/schema.ts";
import { INPUT_LIMIT_BYTES, toJson } from "../journal/json-limits.ts";
import type { RecordedEvent } from "../journal/recorder.ts";
import { EXPIRED } from "../replay/turn-journal.ts";
import type { LoggedWait, Outcome } from "../replay/turn-journal.ts";
import type { LiveWait } from "../scheduler/call-tree.ts";
import type { ActiveTurn } from "./active-turn.ts";

/** Records a new wait, also in the index of open waits. Returns its id. */
export function recordWait(
  { context, recorder, requestId }: ActiveTurn,
  speaker: Speaker,
  body: EventBody & { readonly type: "WaitForInput" },
): number {
  const { id: waitId } = recorder.event(speaker, body);
  recorder.wait({ waitId, requestId, openedAt: context.environment.now() });
  return waitId;
}

/** Registers an open wait that can be answered; a turn with too many of them ends. */
export function addWait(turn: ActiveTurn, wait: LiveWait): void {
  const { limits } = turn.context;
  turn.quiescence.waiting(wait);
  turn.openAsks?.park();
  if (turn.counts.waits <= limits.openWaits) return;
  turn.fail("overloaded", `agent ${turn.agent.name} has more than ${limits.openWaits} open questions`);
}

/**
 * Answers a wait; `undefined` if it was closed in the meantime. Throws `unprocessable` if the values do not fit, and
 * `too_large` if they do not fit into an event. The wait stays open then, because everything is checked before its end.
 */
export async function answerWait(
  turn: ActiveTurn,
  wait: LiveWait,
  given: JsonObject,
  { resumeId, by }: { readonly resumeId: string | undefined; readonly by: By | undefined },
): Promise<RecordedEvent | undefined> {
  if (expiredNow(turn, wait)) return undefined;
  const values = toJson(given, "the answer", INPUT_LIMIT_BYTES) as JsonObject;
  await checkAnswer(turn.context.environment, wait, values);
  if (!wait.call.open || expiredNow(turn, wait)) return undefined;
  if (resumeId !== undefined) turn.parkedCalls.answered(resumeId);
  const body: EventBody = {
    type: "ResumeWithInput",
    wait_id: wait.waitId,
    request_keys: values,
    ...(resumeId !== undefined && { resume_id: resumeId }),
    ...(by && { by }),
  };
  wait.answered?.(values);
  return endWait(turn, wait, { ok: true, value: values }, body);
}

/** Ends a wait without an answer, because its time limit has passed. */
export function expireWait(turn: ActiveTurn, wait: LiveWait): void {
  if (!turn.calls.accepts(wait.call)) return;
  endWait(turn, wait, EXPIRED, { type: "WaitExpired", wait_id: wait.waitId });
}

/** Records the end of a wait. The current segment of the request begins with it. */
export function endWait(
  turn: ActiveTurn,
  { call }: LiveWait,
  outcome: Outcome,
  body: EventBody,
): RecordedEvent {
  const recorded = turn.calls.settle(call, outcome, body, turn.speaker);
  turn.parkedCalls.lastResume = recorded.id;
  return recorded;
}

/** Whether the time limit of a wait has passed. A wait whose timer is late ends now. */
function expiredNow({ context }: ActiveTurn, { expiresAt = Infinity, expire }: LiveWait): boolean {
  if (expire === undefined || expiresAt > context.environment.now()) return false;
  expire();
  return true;
}

/** Throws `unprocessable` unless the values answer the wait. */
async function checkAnswer(
  environment: Environment,
  { questions, schema }: LiveWait,
  values: JsonObject,
): Promise<void> {
  if (schema) {
    await checkWith(environment, schema, values, "the answer");
    return;
  }
  checkKeys({ questions }, values);
}

/** Throws `unprocessable` unless the values have exactly the keys that were asked for. */
export function checkKeys({ questions }: Pick<LoggedWait, "questions">, values: JsonObject): void {
  const missing = Object.keys(questions).filter((key) => !Object.hasOwn(values, key));
  const unknown = Object.keys(values).filter((key) => !Object.hasOwn(questions, key));
  const issues = [
    ...missing.map((path) => ({ path, message: "a value is expected" })),
    ...unknown.map((path) => ({ path, message: "this key was not asked for" })),
  ];
  if (issues.length > 0)
    throw new AgentError("unprocessable", "the answer does not fit the questions", { issues });
}
