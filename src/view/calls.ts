import type { Mutable, ViewDraft } from "./draft.ts";
import { baseOf, given, placeOf } from "./event.ts";
import type { Sent, SentEvent } from "./event.ts";
import { closeCall, openCall, outcomeOf } from "./call-tree.ts";
import type { CallEnd } from "./call-tree.ts";
import { addPart, dropTexts, endTextsOf } from "./parts.ts";
import { callKey } from "./run-view.ts";
import type { CallView } from "./run-view.ts";
import { addUsage } from "./turns.ts";

/** The fields of a call that depend on its kind. */
type CallFields = Pick<CallView, "kind" | "name"> &
  Partial<Pick<CallView, "functionName" | "args" | "attempt" | "callee" | "retryOf" | "until">>;

/** Opens a call of the actor that the event belongs to. */
export function beginCall(
  draft: ViewDraft,
  event: SentEvent,
  key: string,
  callId: string,
  fields: CallFields,
): void {
  const { requestId, agent, depth, at, actor } = placeOf(event);
  if (requestId === null) return;
  const call: CallView = {
    attempt: 1,
    ...fields,
    key,
    requestId,
    callId,
    caller: agent,
    depth: depth + 1,
    // The call may be missing in filtered events.
    parent: draft.view.calls.has(actor) ? actor : callKey(requestId),
    children: [],
    openCalls: 0,
    startedId: event.id,
    startedAt: at,
    progress: "",
  };
  openCall(draft, call);
  if (call.kind !== "wait") draft.changes?.push({ type: "call", call });
}

/** Whether a call is made again. */
function isRepeated(draft: ViewDraft, key: string, attempt: number): boolean {
  const call = draft.call(key);
  if (call === undefined) return false;
  call.attempt = attempt;
  call.progress = "";
  draft.changes?.push({ type: "attempt", call });
  return true;
}

export function callTool(draft: ViewDraft, event: Sent<"ToolCall">): void {
  const { function_name: functionName = "", args, callee, attempt = 1, retry_of: retryOf } = event;
  const callId = event.tool_call_id ?? `?${event.id}`;
  const key = keyIn(event, callId);
  if (isRepeated(draft, key, attempt)) return;
  beginCall(draft, event, key, callId, {
    kind: callee?.kind ?? "call",
    name: callee?.name ?? functionName,
    functionName,
    attempt,
    ...given({ args, callee, retryOf: retryOf && keyIn(event, retryOf) }),
  });
  addPart(draft, { ...baseOf(event), kind: "call", call: key });
}

export function addProgress(draft: ViewDraft, { content = "", ...event }: Sent<"ToolTextOutput">): void {
  const call = draft.call(keyIn(event, event.tool_call_id));
  if (call === undefined) return;
  call.progress += content;
  draft.changes?.push({ type: "progress", call, text: content });
}

export function endTool(draft: ViewDraft, event: Sent<"ToolResult">): void {
  const { tool_call_id: callId, result, text_result: text } = event;
  const end = { outcome: "success", ...given({ result, text }) } as const;
  endCall(draft, event, callId, end);
}

export function failTool(draft: ViewDraft, event: Sent<"ToolError">): void {
  const { tool_call_id: callId, code = "tool_error", content: error = "" } = event;
  endCall(draft, event, callId, { outcome: outcomeOf(code), errorCode: code, error });
}

export function callModel(draft: ViewDraft, event: Sent<"CompletionCall">): void {
  const { model = "", call_id: callId = `?${event.id}`, attempt = 1 } = event;
  const key = keyIn(event, callId);
  if (isRepeated(draft, key, attempt)) dropTexts(draft, placeOf(event), callId, attempt);
  else beginCall(draft, event, key, callId, { kind: "model", name: model, attempt });
}

export function endModel(draft: ViewDraft, event: Sent<"CompletionResult">): void {
  const { call_id: callId, usage = {}, result = null, error } = event;
  const outcome = error === undefined ? "success" : "error";
  const end = { outcome, usage, result, ...given({ error }) } as const;
  if (callId !== undefined) endTextsOf(draft, placeOf(event).actor, callId);
  endCall(draft, event, callId, end);
  const turn = draft.turn(event.request_id ?? null);
  if (turn) turn.usage = addUsage(turn.usage, usage);
  draft.view.usage = addUsage(draft.view.usage, usage);
}

export function beginSleep(draft: ViewDraft, event: Sent<"Sleeping">): void {
  const { call_id: callId = `?${event.id}`, until = event.ts ?? "" } = event;
  beginCall(draft, event, freeKey(draft, event, callId), callId, { kind: "sleep", name: "sleep", until });
}

/** Learns from an event in a call of an unknown kind that it calls an agent. */
export function learnKind(draft: ViewDraft, event: SentEvent): void {
  if (event.parent_call_id === undefined || !SAID_BY_AGENTS.has(event.type)) return;
  const known = draft.view.calls.get(placeOf(event).actor);
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
