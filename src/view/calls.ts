import type { Mutable, ViewDraft } from "./draft.ts";
import { baseOf, given, eventPlace } from "./event.ts";
import type { SentEventOf, SentEvent } from "./event.ts";
import { closeCall, addCall, endEarlierSleeps, outcomeOf, restCall } from "./call-tree.ts";
import type { CallEnd } from "./call-tree.ts";
import { addPart, dropTexts, endTextsOf } from "./parts.ts";
import { callKey } from "./run-view.ts";
import type { CallView } from "./run-view.ts";
import { mergeUsage } from "./turns.ts";

/** The fields of a call that depend on its kind. */
type CallFields = Pick<CallView, "kind" | "name"> &
  Partial<
    Pick<CallView, "functionName" | "args" | "attempt" | "callee" | "mode" | "retryOf" | "until" | "parent">
  >;

/** Opens a call of the actor that the event belongs to. */
export function beginCall(
  draft: ViewDraft,
  event: SentEvent,
  key: string,
  callId: string,
  fields: CallFields,
): void {
  const { requestId, agent, depth, at, actor } = eventPlace(event);
  if (requestId === null) return;
  endEarlierSleeps(draft, requestId, callId, momentOf(event));
  const call: CallView = {
    attempt: 1,
    // The call may be missing in filtered events.
    parent: draft.view.calls.has(actor) ? actor : callKey(requestId),
    ...fields,
    key,
    requestId,
    callId,
    caller: agent,
    depth: depth + 1,
    children: [],
    openCalls: 0,
    startedId: event.id,
    startedAt: at,
    progress: "",
  };
  addCall(draft, call);
  if (call.kind !== "wait") draft.changes?.push({ type: "call", call });
}

/** Whether a call is made again. */
function isRepeated(draft: ViewDraft, event: SentEvent, key: string, attempt: number): boolean {
  const call = draft.call(key);
  if (call === undefined) return false;
  call.attempt = attempt;
  call.progress = "";
  if (call.until !== undefined) restCall(draft, call, undefined, momentOf(event).ts);
  draft.changes?.push({ type: "attempt", call });
  return true;
}

export function beginToolCall(draft: ViewDraft, event: SentEventOf<"ToolCall">): void {
  const { function_name: functionName = "", args, callee, mode, attempt = 1, retry_of: retryOf } = event;
  const callId = event.tool_call_id ?? `?${event.id}`;
  const key = keyIn(event, callId);
  if (isRepeated(draft, event, key, attempt)) return;
  beginCall(draft, event, key, callId, {
    kind: callee?.kind ?? "call",
    name: callee?.name ?? functionName,
    functionName,
    attempt,
    ...given({ args, callee, mode, retryOf: retryOf && keyIn(event, retryOf) }),
  });
  addPart(draft, { ...baseOf(event), kind: "call", call: key });
}

export function addProgress(
  draft: ViewDraft,
  { content = "", ...event }: SentEventOf<"ToolTextOutput">,
): void {
  const call = draft.call(keyIn(event, event.tool_call_id));
  if (call === undefined) return;
  call.progress += content;
  draft.changes?.push({ type: "progress", call, text: content });
}

export function endTool(draft: ViewDraft, event: SentEventOf<"ToolResult">): void {
  const { tool_call_id: callId, result, text_result: text } = event;
  const end = { outcome: "success", ...given({ result, text }) } as const;
  endCall(draft, event, callId, end);
}

export function failTool(draft: ViewDraft, event: SentEventOf<"ToolError">): void {
  const { tool_call_id: callId, code = "tool_error", content: error = "" } = event;
  endCall(draft, event, callId, { outcome: outcomeOf(code), errorCode: code, error });
}

export function beginModelCall(draft: ViewDraft, event: SentEventOf<"CompletionCall">): void {
  const { model = "", call_id: callId = `?${event.id}`, attempt = 1 } = event;
  const key = keyIn(event, callId);
  if (isRepeated(draft, event, key, attempt)) {
    dropTexts(draft, eventPlace(event), callId, attempt);
    endParts(draft, event, key);
  } else beginCall(draft, event, key, callId, { kind: "model", name: model, attempt });
}

/** Ends the calls that a provider has made itself in an attempt of a completion, which has left them open. */
function endParts(draft: ViewDraft, event: SentEvent, completion: string): void {
  for (const { key, outcome } of draft.view.calls.values()) {
    if (outcome !== undefined || !/^[.:]/.test(key.slice(completion.length)) || !key.startsWith(completion))
      continue;
    const end = {
      outcome: "canceled",
      errorCode: "interrupted",
      error: "the model was asked again",
    } as const;
    const call = closeCall(draft, key, end, momentOf(event));
    if (call !== undefined) draft.changes?.push({ type: "result", call });
  }
}

/** A model is away: its completion rests until the next attempt. */
export function restModel(draft: ViewDraft, event: SentEventOf<"CompletionRetry">): void {
  const { call_id: callId, error = "", error_code: errorCode, until } = event;
  const call = draft.call(keyIn(event, callId));
  if (call === undefined || call.outcome !== undefined) return;
  if (until === undefined) return;
  restCall(draft, call, { until, error, ...given({ errorCode }) }, momentOf(event).ts);
  draft.changes?.push({ type: "rest", call });
}

export function endModel(draft: ViewDraft, event: SentEventOf<"CompletionResult">): void {
  const { call_id: callId, usage = {}, result = null, error } = event;
  const outcome = error === undefined ? "success" : "error";
  const end = { outcome, usage, result, ...given({ error }) } as const;
  if (callId !== undefined) endTextsOf(draft, eventPlace(event).actor, callId);
  endCall(draft, event, callId, end);
  const turn = draft.turn(event.request_id ?? null);
  if (turn) turn.usage = mergeUsage(turn.usage, usage);
  draft.view.usage = mergeUsage(draft.view.usage, usage);
}

export function beginSleep(draft: ViewDraft, event: SentEventOf<"Sleeping">): void {
  const { call_id: callId = `?${event.id}`, until = event.ts ?? "" } = event;
  beginCall(draft, event, freeKey(draft, event, callId), callId, { kind: "sleep", name: "sleep", until });
}

/** Learns from an event in a call of an unknown kind that it calls an agent. */
export function learnKind(draft: ViewDraft, event: SentEvent): void {
  if (event.parent_call_id === undefined || !SAID_BY_AGENTS.has(event.type)) return;
  const known = draft.view.calls.get(eventPlace(event).actor);
  if (known?.kind !== "call") return;
  const call: Mutable<CallView> | undefined = draft.call(known.key);
  if (call === undefined) return;
  call.kind = "agent";
  call.name = event.agent ?? call.name;
}

/** The key of a call that may have the id of another one, as a wait of a server of the draft. */
export function freeKey(draft: ViewDraft, event: SentEvent, callId: string): string {
  const key = keyIn(event, callId);
  return draft.view.calls.has(key) ? `${key}?${event.id}` : key;
}

/** The open completion that asks for more of a budget; `undefined` if it is missing in filtered events. */
export function askingCompletion(draft: ViewDraft, event: SentEvent, callId: string): string | undefined {
  const key = keyIn(event, callId.slice(0, callId.lastIndexOf(".")));
  const call = draft.view.calls.get(key);
  return call?.kind === "model" && call.outcome === undefined ? key : undefined;
}

/** The id and time of an event. */
export function momentOf({ id, ts = "" }: SentEvent): { readonly id: number; readonly ts: string } {
  return { id, ts };
}

function endCall(draft: ViewDraft, event: SentEvent, callId: string | undefined, end: CallEnd): void {
  const call = closeCall(draft, keyIn(event, callId), end, momentOf(event));
  if (call !== undefined) draft.changes?.push({ type: "result", call });
}

const SAID_BY_AGENTS: ReadonlySet<string> = new Set(["TextOutput", "ToolCall", "CompletionCall"]);

function keyIn({ request_id }: SentEvent, callId: string = ""): string {
  return callKey(request_id ?? "", callId);
}
