import type { EventBody, ToolErrorCode } from "../../protocol/events/events.ts";
import type { Json } from "../../protocol/json.ts";
import type { PublishedFile } from "../agent/remote-port.ts";
import { cut, EVENT_LIMIT_BYTES } from "../journal/json-limits.ts";
import { toolCanceled } from "../scheduler/call-tree.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { ActorContext } from "../turn/actor-context.ts";

/** The result of a call as a value, and as text for a model. */
export interface CallAnswer {
  readonly value: Json;
  readonly summary: string;
}

/** The rest of the event's limit is for the structured result beside the text. */
const TEXT_LIMIT_BYTES = EVENT_LIMIT_BYTES / 4;

/** Ends a call with its result, and the files that it published. */
export function finish(
  { turn }: ActorContext,
  open: OpenCall,
  { value, summary }: CallAnswer,
  files: readonly PublishedFile[],
): void {
  if (!turn.calls.accepts(open)) return;
  const lines = [summary, ...files.map(({ name, mimeType, url }) => `${name} (${mimeType}) ${url}`)];
  const text = cut(lines.join("\n"), TEXT_LIMIT_BYTES);
  turn.calls.settle(
    open,
    { ok: true, value, text },
    {
      type: "ToolResult",
      function_name: open.name,
      text_result: text,
      result: value,
      tool_call_id: open.callId,
    },
  );
}

/** Ends a call with an error. */
export function fail({ turn }: ActorContext, open: OpenCall, code: ToolErrorCode, message: string): void {
  if (!turn.calls.accepts(open)) return;
  turn.calls.settle(open, { ok: false, code, message }, toToolError(open, code, message));
}

/** Ends a call that still works with an error, and stops its work. */
export function stop({ turn }: ActorContext, open: OpenCall, code: ToolErrorCode, message: string): void {
  if (!turn.calls.accepts(open)) return;
  turn.calls.stop(open, { ok: false, code, message }, toToolError(open, code, message));
}

/** Cancels a call for the code that made it, with everything under it; a call that has ended is left alone. */
export function cancel({ turn }: ActorContext, open: OpenCall): void {
  if (!open.open) return;
  const body = toolCanceled(open);
  turn.calls.stop(open, { ok: false, code: "canceled", message: body.content }, body);
}

function toToolError(open: OpenCall, code: ToolErrorCode, message: string): EventBody {
  return {
    type: "ToolError",
    function_name: open.name,
    content: message,
    code,
    tool_call_id: open.callId,
  };
}
