import { callKey } from "./fold.ts";
import type { Draft, Fold } from "./fold.ts";
import { given, placeOf } from "./event.ts";
import type { Sent, SentEvent } from "./event.ts";
import { closeCall, openCall, outcomeOf } from "./open-calls.ts";
import type { CallView } from "./run-view.ts";
import { addMessage, dropText } from "./texts.ts";
import { addUsage } from "./usage.ts";

/** The fields of a call that depend on its kind. */
type CallFields = Pick<CallView, "kind" | "name"> &
  Partial<Pick<CallView, "functionName" | "args" | "attempt" | "callee" | "retryOf" | "until">>;

/** Opens a call of the actor that the event belongs to. */
export function beginCall(
  fold: Fold,
  event: SentEvent,
  key: string,
  callId: string,
  fields: CallFields,
): void {
  const { requestId, agent, depth, at, actor } = placeOf(event);
  if (requestId === null) return;
  openCall(fold, {
    attempt: 1,
    ...fields,
    key,
    requestId,
    callId,
    caller: agent,
    depth: depth + 1,
    // The call may be missing in filtered events.
    parent: fold.view.calls.has(actor) ? actor : callKey(requestId),
    children: [],
    openCalls: 0,
    startedId: event.id,
    startedAt: at,
    progress: "",
  });
}

export function callTool(fold: Fold, event: Sent<"ToolCall">): void {
  const { function_name: functionName = "", args, callee, attempt = 1, retry_of: retryOf } = event;
  const callId = event.tool_call_id ?? `?${event.id}`;
  const key = keyIn(event, callId);
  const again = fold.call(key);
  if (again) {
    again.attempt = attempt;
    again.progress = "";
    return;
  }
  beginCall(fold, event, key, callId, {
    kind: callee?.kind ?? "call",
    name: callee?.name ?? functionName,
    functionName,
    attempt,
    ...given({ args, callee, retryOf: retryOf && keyIn(event, retryOf) }),
  });
  addMessage(fold, { ...placeOf(event), id: event.id, kind: "call", call: key });
}

export function addProgress(fold: Fold, { content = "", ...event }: Sent<"ToolTextOutput">): void {
  const call = fold.call(keyIn(event, event.tool_call_id));
  if (call) call.progress += content;
}

export function endTool(fold: Fold, event: Sent<"ToolResult">): void {
  const { tool_call_id: callId, result, text_result: text } = event;
  const end = { outcome: "success", ...given({ result, text }) } as const;
  closeCall(fold, keyIn(event, callId), end, momentOf(event));
}

export function failTool(fold: Fold, event: Sent<"ToolError">): void {
  const { tool_call_id: callId, code = "tool_error", content: error = "" } = event;
  closeCall(
    fold,
    keyIn(event, callId),
    { outcome: outcomeOf(code), errorCode: code, error },
    momentOf(event),
  );
}

export function callModel(fold: Fold, event: Sent<"CompletionCall">): void {
  const { model = "", call_id: callId = `?${event.id}`, attempt = 1 } = event;
  const key = keyIn(event, callId);
  const again = fold.call(key);
  if (again) {
    again.attempt = attempt;
    dropText(fold, placeOf(event), callId, attempt);
    return;
  }
  beginCall(fold, event, key, callId, { kind: "model", name: model, attempt });
}

export function endModel(fold: Fold, event: Sent<"CompletionResult">): void {
  const { call_id: callId, usage = {}, result = null, error } = event;
  const outcome = error === undefined ? "success" : "error";
  const end = { outcome, usage, result, ...given({ error }) } as const;
  closeCall(fold, keyIn(event, callId), end, momentOf(event));
  const turn = fold.turn(event.request_id ?? null);
  if (turn) turn.usage = addUsage(turn.usage, usage);
  fold.view.usage = addUsage(fold.view.usage, usage);
}

export function beginSleep(fold: Fold, event: Sent<"Sleeping">): void {
  const { call_id: callId = `?${event.id}`, until = event.ts ?? "" } = event;
  beginCall(fold, event, freeKey(fold, event, callId), callId, { kind: "sleep", name: "sleep", until });
}

/** Learns from an event in a call of an unknown kind that it calls an agent. */
export function learnKind(fold: Fold, event: SentEvent): void {
  if (event.parent_call_id === undefined || !SAID_BY_AGENTS.has(event.type)) return;
  const known = fold.view.calls.get(placeOf(event).actor);
  if (known?.kind !== "call") return;
  const call: Draft<CallView> | undefined = fold.call(known.key);
  if (call === undefined) return;
  call.kind = "agent";
  call.name = event.agent ?? call.name;
}

/** The key of a call that may have the id of another one, as a wait of a server of the draft. */
export function freeKey(fold: Fold, event: SentEvent, callId: string): string {
  const key = keyIn(event, callId);
  return fold.view.calls.has(key) ? `${key}?${event.id}` : key;
}

/** The id and time of an event. */
export function momentOf({ id, ts = "" }: SentEvent): { readonly id: number; readonly ts: string } {
  return { id, ts };
}

const SAID_BY_AGENTS: ReadonlySet<string> = new Set(["TextOutput", "ToolCall", "CompletionCall"]);

function keyIn({ request_id }: SentEvent, callId: string = ""): string {
  return callKey(request_id ?? "", callId);
}
