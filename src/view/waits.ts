import type { JsonObject } from "../protocol/json.ts";
import { askingCompletion, beginCall, freeKey, momentOf } from "./calls.ts";
import { baseOf, given, eventPlace } from "./event.ts";
import type { SentEventOf, SentEvent } from "./event.ts";
import type { Mutable, ViewDraft } from "./draft.ts";
import { closeCall } from "./call-tree.ts";
import { addPart, endTextsIn } from "./parts.ts";
import type { WaitView } from "./run-view.ts";

export function beginWait(draft: ViewDraft, event: SentEventOf<"WaitForInput">): void {
  const { requestId, agent, depth, actor, at } = eventPlace(event);
  const { wait_id: waitId = event.id, request_keys: questions = {}, schema, approval, tool } = event;
  const { approvers, question, budget } = event;
  const { call_id: callId = `?${event.id}`, expires_at: expiresAt } = event;
  if (requestId === null) return;
  const call = freeKey(draft, event, callId);
  const parent = budget && askingCompletion(draft, event, callId);
  beginCall(draft, event, call, callId, { kind: "wait", name: agent, ...given({ parent }) });
  const wait: WaitView = {
    waitId,
    requestId,
    agent,
    depth,
    call,
    actor,
    questions,
    ...given({ schema, approval, tool, approvers, question, expiresAt }),
    state: "open",
    from: at,
  };
  draft.view.waits = draft.added(draft.view.waits, wait);
  addPart(draft, { ...baseOf(event), kind: "wait", waitId });
  draft.changes?.push({ type: "wait", wait });
}

export function applyAnswer(draft: ViewDraft, event: SentEventOf<"ResumeWithInput">): void {
  const { request_keys: values = {}, resume_id: resumeId, by } = event;
  const wait = closeWait(draft, event, "answered", { kind: "answer", values });
  if (wait === undefined) return;
  Object.assign(wait, { answer: values, answeredId: event.id, ...given({ resumeId, by }) });
  draft.changes?.push({ type: "answer", wait });
}

export function applyExpiry(draft: ViewDraft, event: SentEventOf<"WaitExpired">): void {
  const wait = closeWait(draft, event, "expired", { kind: "expiry" });
  if (wait !== undefined) draft.changes?.push({ type: "expiry", wait });
}

/** Closes a wait that is open. What the turn says from now on belongs to its next segment. */
function closeWait(
  draft: ViewDraft,
  event: SentEventOf<"ResumeWithInput" | "WaitExpired">,
  state: WaitView["state"],
  fields: { readonly kind: "answer"; readonly values: JsonObject } | { readonly kind: "expiry" },
): WaitView | undefined {
  const wait = openWait(draft, event, event.wait_id);
  if (wait === undefined) return undefined;
  const moment = momentOf(event);
  wait.state = state;
  wait.to = moment.ts;
  closeCall(draft, wait.call, { outcome: "success" }, moment);
  endTextsIn(draft, wait.requestId);
  const { waitId, agent, depth, actor } = wait;
  addPart(draft, { ...baseOf(event), agent, depth, actor, waitId, ...fields });
  return wait;
}

/** The named wait, if it is open; without a name the oldest open one of the request. */
function openWait(
  draft: ViewDraft,
  { request_id }: SentEvent,
  waitId: number | undefined,
): Mutable<WaitView> | undefined {
  const { waits } = draft.view;
  const named =
    waitId ?? waits.find((wait) => wait.requestId === request_id && wait.state === "open")?.waitId ?? -1;
  const wait = waits.findLast((one) => one.waitId === named);
  return wait?.state === "open" ? draft.wait(named) : undefined;
}
