import { AgentError } from "../../errors.ts";
import { TURN_ERROR_CODES } from "../../protocol/events/outcome-codes.ts";
import type { ToolErrorCode, TurnErrorCode } from "../../protocol/events/outcome-codes.ts";
import type { Json } from "../../protocol/json.ts";
import { toJson } from "../../runtime/journal/json-limits.ts";
import type { RemoteEnd, RemoteError } from "../../runtime/agent/remote-port.ts";

/**
 * The end of a call whose remote request has completed, from its RequestCompleted or its status. Throws
 * `too_large` for an output that does not fit into a local event.
 */
export function completedEnd(completed: Readonly<Record<string, unknown>>, name: string): RemoteEnd {
  const { finish_reason: reason, result, output, error, result_truncated: truncated } = completed;
  if (reason === "canceled") return toError("canceled", `agent ${name} was canceled on its server`);
  if (reason === "error") {
    const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
    const why = typeof message === "string" && message !== "" ? message : "it gives no reason";
    return toError(isTurnCode(code) ? code : "agent_error", `agent ${name} failed: ${why}`);
  }
  const value = (output ?? (typeof result === "string" ? null : result) ?? null) as Json;
  return {
    ok: true,
    result: typeof result === "string" ? result : null,
    output: toJson(value, `what agent ${name} returned`),
    truncated: truncated === true,
  };
}

/** The end of a failed call; `taken` is true if the server had accepted the request. */
export function failedEnd(thrown: unknown, name: string, taken: boolean): RemoteError {
  if (!(thrown instanceof AgentError)) return toError("agent_error", `agent ${name} could not be called`);
  const { code, message } = thrown;
  if (code === "timeout") return toError("timeout", message);
  if (code === "unprocessable") return toError("unsupported_input", message);
  if (code === "too_deep") return { ok: false, toolCode: code, turnCode: "agent_error", message };
  // The server knew the request before and no longer knows it.
  if (taken && (code === "not_found" || code === "gone"))
    return toError("interrupted", `agent ${name} has lost the request; whether it took effect is unknown`);
  return toError("agent_error", message);
}

function toError(turnCode: TurnErrorCode, message: string): RemoteError {
  return { ok: false, toolCode: TOOL_CODES[turnCode] ?? "tool_error", turnCode, message };
}

/** The code of the local call for each error code of the remote turn. */
const TOOL_CODES: Partial<Record<TurnErrorCode, ToolErrorCode>> = {
  unsupported_input: "invalid_input",
  interrupted: "interrupted",
  poisoned: "interrupted",
  timeout: "timeout",
  canceled: "canceled",
};

function isTurnCode(code: unknown): code is TurnErrorCode {
  return (TURN_ERROR_CODES as readonly unknown[]).includes(code);
}
