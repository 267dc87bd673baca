import { TaskState } from "@a2a-js/sdk";
import { RequestMalformedError, TaskNotFoundError } from "@a2a-js/sdk/errors";
import { AgentError } from "../../../errors.ts";
import { TURN_ERROR_CODES } from "../../../protocol/events/outcome-codes.ts";
import type { ToolErrorCode, TurnErrorCode } from "../../../protocol/events/outcome-codes.ts";
import type { RemoteEnd, RemoteError } from "../../../runtime/agent/remote-port.ts";

/** The end of a call whose task has ended without success; `undefined` if it goes on. */
export function toEnd(
  name: string,
  {
    state,
    text,
    code,
  }: { readonly state: TaskState | undefined; readonly text: string; readonly code: unknown },
): RemoteEnd | undefined {
  const why = text === "" ? "it gives no reason" : text;
  if (state === TaskState.TASK_STATE_CANCELED)
    return toError("canceled", `agent ${name} was canceled on its server`);
  if (state === TaskState.TASK_STATE_REJECTED)
    return toError("unsupported_input", `agent ${name} does not take this: ${why}`);
  if (state !== TaskState.TASK_STATE_FAILED) return undefined;
  return toError(isTurnCode(code) ? code : "agent_error", `agent ${name} failed: ${why}`);
}

/** The end of a call in which something was thrown; `isSent` is true if the agent may have got the message. */
export function toBrokenEnd(thrown: unknown, name: string, isSent: boolean): RemoteError {
  const { message } = thrown as Error;
  if (thrown instanceof TaskNotFoundError)
    return toError("interrupted", `agent ${name} has lost the task; whether it took effect is unknown`);
  if (thrown instanceof RequestMalformedError)
    return toError("unsupported_input", `agent ${name}: ${message}`);
  if (!(thrown instanceof AgentError))
    return toError("agent_error", `agent ${name} could not be called: ${message}`);
  if (thrown.code === "timeout") return toError("timeout", message);
  if (thrown.code === "unprocessable") return toError("unsupported_input", message);
  return toError(
    "agent_error",
    isSent && thrown.code === "unavailable" ? `${message}; whether the call took effect is unknown` : message,
  );
}

/** The end of a call whose message was sent by a process that has ended before it knew the task. */
export function toUnknownEnd(name: string): RemoteError {
  return toError(
    "interrupted",
    `the call of agent ${name} was interrupted before it had told its task, so whether it took effect is unknown`,
  );
}

function toError(turnCode: TurnErrorCode, message: string): RemoteError {
  return { ok: false, toolCode: TOOL_CODES[turnCode] ?? "tool_error", turnCode, message };
}

/** The code of the local call for each error code of a turn. */
const TOOL_CODES: Partial<Record<TurnErrorCode, ToolErrorCode>> = {
  unsupported_input: "invalid_input",
  interrupted: "interrupted",
  timeout: "timeout",
  canceled: "canceled",
};

function isTurnCode(code: unknown): code is TurnErrorCode {
  return (TURN_ERROR_CODES as readonly unknown[]).includes(code);
}
