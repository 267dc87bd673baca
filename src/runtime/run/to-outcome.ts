import type { Event } from "../../protocol/events/events.ts";
import { isModelCode } from "../../protocol/events/outcome-codes.ts";
import type { ToolErrorCode, TurnErrorCode } from "../../protocol/events/outcome-codes.ts";
import type { TurnRequest } from "../../protocol/requests/requests.ts";
import { CHAT } from "../agent/agent.ts";
import { EVENT_LIMIT_BYTES, byteLength } from "../journal/json-limits.ts";
import type { Outcome } from "../replay/turn-journal.ts";

/** The end of a turn as the outcome of the call that asked for it. */
export function toOutcome(
  request: TurnRequest,
  { finish_reason: reason, result, output, error }: Event & { readonly type: "RequestCompleted" },
): Outcome {
  switch (reason) {
    case "success": {
      const isChat = request.type === "ChatRequest" || request.operation === CHAT;
      const value = isChat ? { output: result } : output;
      const text = JSON.stringify(value);
      if (text.length * 3 > EVENT_LIMIT_BYTES && byteLength(text) > EVENT_LIMIT_BYTES)
        return {
          ok: false,
          code: "too_large",
          message: `the answer is larger than ${EVENT_LIMIT_BYTES} bytes`,
        };
      return { ok: true, value, text: result ?? (typeof value === "string" ? value : text) };
    }
    case "canceled":
      return { ok: false, code: "canceled", message: "the request was canceled" };
    case "error": {
      const { code = "agent_error", message = "the turn failed" } = error ?? {};
      return { ok: false, code: CODES[code] ?? (isModelCode(code) ? code : "tool_error"), message };
    }
    default: {
      const never: never = reason;
      return never;
    }
  }
}

const CODES: Partial<Record<TurnErrorCode, ToolErrorCode>> = {
  interrupted: "interrupted",
  timeout: "timeout",
  overloaded: "overloaded",
  unsupported_input: "invalid_input",
  canceled: "canceled",
  not_accepted: "not_accepted",
  stopped: "stopped",
};
