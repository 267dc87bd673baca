import { AgentError } from "../../errors.ts";
import { checkNative } from "../../http/messages/native-request.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import { canonical, isObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { WaitView } from "../../view/run-view.ts";
import { approvalKeyOf, checkAnswerable } from "../../view/to-answer.ts";
import { alreadyAnswered, checkOwnAnswer, toWaitValues } from "../../view/wait-answers.ts";
import { textIn } from "./input.ts";
import type { ResumeEntry, RunInput } from "./input.ts";
import { toResumeId, toWireId } from "./place.ts";
import type { SegmentPlace } from "./place.ts";
import { toSegmentPlace } from "./thread.ts";
import type { ThreadRun } from "./thread.ts";

/** What a client answers to a question. */
export interface InterruptAnswer {
  readonly wait: WaitView;
  /** Undefined cancels the request. */
  readonly values: JsonObject | undefined;
}

/** Reads the answers to interrupts, and the results of the tools that the client runs. */
export function readAnswers({ activity }: ThreadRun, input: RunInput): readonly InterruptAnswer[] {
  const waits = [...(activity?.waits ?? []), ...(activity?.closed ?? [])];
  const find = (id: string): WaitView | undefined =>
    waits.find(({ requestId, waitId }) => toWireId(requestId, waitId) === id);
  const resumed = input.resume.map((entry, index): InterruptAnswer => {
    const wait = find(entry.interruptId);
    if (wait === undefined)
      throw new AgentError("not_found", `the thread has no interrupt ${JSON.stringify(entry.interruptId)}`);
    const values =
      entry.status === "cancelled" ? undefined : toValues(wait, entry, `resume.${index}.payload`);
    return { wait, values };
  });
  const results = input.messages.slice(input.known).flatMap((message): InterruptAnswer[] => {
    const { role, toolCallId = "", content, error } = message;
    const wait = role === "tool" ? find(toolCallId) : undefined;
    if (wait?.tool === undefined) return [];
    const isError = typeof error === "string";
    const text = textIn(content);
    const result = isError && text === "" ? error : text;
    return [{ wait, values: toWaitValues(wait, { type: "result", waitId: wait.waitId, result, isError }) }];
  });
  return [...resumed, ...results];
}

/**
 * Gives answers to the questions that are open. `conflict` if one was given another answer. Undefined if nothing is left to be
 * answered, and everything was given up.
 */
export async function giveAnswers(
  run: ThreadRun,
  answers: readonly InterruptAnswer[],
  again: SegmentPlace | undefined,
): Promise<SegmentPlace | undefined> {
  const open = answers.filter(({ wait }) => wait.state === "open");
  const closed = answers.filter(({ wait }) => wait.state !== "open");
  for (const { wait, values } of closed)
    if (values !== undefined && canonical(values) !== canonical(wait.answer ?? null)) throw tooLate(wait);
  const given = closed.find(({ values }) => values !== undefined);
  const canceled =
    open.find(({ values }) => values === undefined) ??
    (open.length === 0 ? closed.find(isCanceled) : undefined);
  if (canceled !== undefined) return cancel(run, canceled.wait);
  if (open.length === 0 && again === undefined && given !== undefined) throw tooLate(given.wait);
  let place = again;
  for (const { wait, values = {} } of open) {
    const began = await give(run, wait, values);
    place ??= toSegmentPlace(run, wait.requestId, { type: "event", id: began });
  }
  return place;
}

/** Gives one answer. Returns the id of its event. */
async function give({ host, agent, own }: ThreadRun, wait: WaitView, values: JsonObject): Promise<number> {
  const { requestId, waitId } = wait;
  const resumeId = toResumeId(own, waitId);
  const receipt = await host.runtime.process(
    agent,
    checkNative({
      type: "ResumeWithInput",
      request_id: requestId,
      wait_id: waitId,
      request_keys: values,
      resume_id: resumeId,
    }),
  );
  checkOwnAnswer(receipt, waitId, resumeId);
  return receipt.after + 1;
}

/** Cancels the request that asks. The run shows nothing but its end. */
async function cancel(run: ThreadRun, { requestId }: WaitView): Promise<SegmentPlace> {
  const { runtime } = run.host;
  const receipt = await runtime.process(run.agent, { type: "CancelRequest", request_id: requestId });
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: CANCEL_MS });
  return toSegmentPlace(run, requestId, { type: "cancel" });
}

/** How long a cancel waits for the cleanup steps of a turn. */
const CANCEL_MS = 5_000;

/** Whether a question has ended with its request, as an answer that cancels it wants it. */
function isCanceled({ wait, values }: InterruptAnswer): boolean {
  return values === undefined && wait.state === "ended";
}

function tooLate({ waitId, state }: WaitView): AgentError {
  if (state === "answered") return alreadyAnswered(waitId);
  return new AgentError("conflict", `question ${waitId} has ended without an answer`);
}

/** The values of a payload: an object of them, yes or no, a text, or the only value that is asked for. */
function toValues(wait: WaitView, { payload }: ResumeEntry, field: string): JsonObject {
  checkAnswerable(wait);
  if (payload === undefined || payload === null) throw wrongField(field, "is missing");
  const { waitId, questions } = wait;
  const [only, ...others] = Object.keys(questions);
  if (isObject(payload) && Object.keys(payload).some((key) => Object.hasOwn(questions, key)))
    return toWaitValues(wait, { type: "values", waitId, values: payload as JsonObject });
  if (typeof payload === "boolean" && approvalKeyOf(wait) !== undefined)
    return toWaitValues(wait, { type: "approval", waitId, approve: payload });
  if (typeof payload === "string") return toWaitValues(wait, { type: "text", waitId, text: payload });
  if (only !== undefined && others.length === 0) return { [only]: payload as Json };
  return toWaitValues(wait, { type: "values", waitId, values: {} });
}
