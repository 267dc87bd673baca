import { beginCall, freeKey, momentOf } from "./calls.ts";
import { given, placeOf } from "./event.ts";
import type { Sent, SentEvent } from "./event.ts";
import type { Draft, Fold } from "./fold.ts";
import { closeCall } from "./open-calls.ts";
import type { WaitView } from "./run-view.ts";
import { addMessage } from "./texts.ts";

export function beginWait(fold: Fold, event: Sent<"WaitForInput">): void {
  const { requestId, agent, depth, actor, at } = placeOf(event);
  const { wait_id: waitId = event.id, request_keys: questions = {}, schema, approval } = event;
  const { call_id: callId = `?${event.id}`, expires_at: expiresAt } = event;
  if (requestId === null) return;
  const call = freeKey(fold, event, callId);
  beginCall(fold, event, call, callId, { kind: "wait", name: agent });
  fold.view.waits = fold.added(fold.view.waits, {
    waitId,
    requestId,
    agent,
    depth,
    call,
    actor,
    questions,
    ...given({ schema, approval, expiresAt }),
    state: "open",
    from: at,
  });
  addMessage(fold, { ...placeOf(event), id: event.id, kind: "question", waitId });
}

export function answerWait(fold: Fold, event: Sent<"ResumeWithInput">): void {
  const values = event.request_keys ?? {};
  const wait = openWait(fold, event, event.wait_id);
  if (wait === undefined) return;
  closeWait(fold, wait, event, "answered");
  wait.answer = values;
  wait.answeredId = event.id;
  const { waitId, agent, depth, actor } = wait;
  addMessage(fold, { ...placeOf(event), agent, depth, actor, id: event.id, kind: "answer", waitId, values });
}

export function expireWait(fold: Fold, event: Sent<"WaitExpired">): void {
  const wait = openWait(fold, event, event.wait_id);
  if (wait) closeWait(fold, wait, event, "expired");
}

function closeWait(fold: Fold, wait: Draft<WaitView>, event: SentEvent, state: WaitView["state"]): void {
  const moment = momentOf(event);
  wait.state = state;
  wait.to = moment.ts;
  closeCall(fold, wait.call, { outcome: "success" }, moment);
}

/** The named wait, if it is open; without a name the oldest open one of the request. */
function openWait(
  fold: Fold,
  { request_id }: SentEvent,
  waitId: number | undefined,
): Draft<WaitView> | undefined {
  const { waits } = fold.view;
  const named =
    waitId ?? waits.find((wait) => wait.requestId === request_id && wait.state === "open")?.waitId ?? -1;
  const wait = waits.findLast((one) => one.waitId === named);
  return wait?.state === "open" ? fold.wait(named) : undefined;
}
