import type { EventBody } from "../../protocol/events/event-body.ts";
import type { ToolErrorCode } from "../../protocol/events/outcome-codes.ts";
import type { CallId } from "../../protocol/ids.ts";
import { toResultFile } from "../agent/result-file.ts";
import { cut, EVENT_LIMIT_BYTES } from "../journal/json-limits.ts";
import type { Outcome } from "../replay/turn-journal.ts";
import type { OpenCallKind, OpenCall } from "./call-tree.ts";

/** What the events of a call say about it. */
export interface NamedCall {
  readonly callId: CallId;
  readonly name: string;
}

/** The event that ends a tool with an outcome. */
export function toToolEnd({ callId, name }: NamedCall, outcome: Outcome): EventBody {
  if (!outcome.ok) return toToolError({ callId, name }, outcome.code as ToolErrorCode, outcome.message);
  return {
    type: "ToolResult",
    function_name: name,
    text_result: outcome.text ?? "",
    result: outcome.value,
    tool_call_id: callId,
    ...(outcome.files && { files: outcome.files.map(toResultFile) }),
  };
}

/** Maximum bytes of the text; the rest of the event is for the structured result. */
const TEXT_LIMIT_BYTES = EVENT_LIMIT_BYTES / 4;

/** Cuts the text of a result to what its event can hold. */
export function cutResult(text: string): string {
  return cut(text, TEXT_LIMIT_BYTES);
}

/** The event that records the cancellation of a call; `undefined` for a call whose end is not recorded. */
export function canceledBody(call: OpenCall): EventBody | undefined {
  return isTool(call) ? toolCanceled(call) : undefined;
}

/** Whether a call is a tool in the log. */
export function isTool({ kind }: OpenCall): boolean {
  return TOOLS.has(kind);
}

const TOOLS: ReadonlySet<OpenCallKind> = new Set(["agent", "effect", "remoteCall", "ask", "tell"]);

/** The event that ends a canceled tool. */
export function toolCanceled(call: NamedCall): ToolError {
  return toToolError(call, "canceled", `${call.name} was canceled`);
}

type ToolError = EventBody & { readonly type: "ToolError" };

function toToolError({ callId, name }: NamedCall, code: ToolErrorCode, content: string): ToolError {
  return { type: "ToolError", function_name: name, content, code, tool_call_id: callId };
}
