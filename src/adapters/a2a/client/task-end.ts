import { TaskState } from "@a2a-js/sdk";
import { RequestMalformedError, TaskNotFoundError } from "@a2a-js/sdk/errors";
import { AgentError } from "../../../errors.ts";
import { isTurnErrorCode } from "../../../protocol/events/outcome-codes.ts";
import { toRemoteError } from "../../../runtime/agent/remote-port.ts";
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
    return toRemoteError("canceled", `agent ${name} was canceled on its server`);
  if (state === TaskState.TASK_STATE_REJECTED)
    return toRemoteError("unsupported_input", `agent ${name} does not take this: ${why}`);
  if (state !== TaskState.TASK_STATE_FAILED) return undefined;
  return toRemoteError(isTurnErrorCode(code) ? code : "agent_error", `agent ${name} failed: ${why}`);
}

/** The end of a call in which something was thrown; `isSent` is true if the agent may have got the message. */
export function toBrokenEnd(thrown: unknown, name: string, isSent: boolean): RemoteError {
  const { message } = thrown as Error;
  if (thrown instanceof TaskNotFoundError)
    return toRemoteError("interrupted", `agent ${name} has lost the task; whether it took effect is unknown`);
  if (thrown instanceof RequestMalformedError)
    return toRemoteError("unsupported_input", `agent ${name}: ${message}`);
  if (!(thrown instanceof AgentError))
    return toRemoteError("agent_error", `agent ${name} could not be called: ${message}`);
  if (thrown.code === "timeout") return toRemoteError("timeout", message);
  if (thrown.code === "unprocessable") return toRemoteError("unsupported_input", message);
  return toRemoteError(
    "agent_error",
    isSent && thrown.code === "unavailable" ? `${message}; whether the call took effect is unknown` : message,
  );
}

/** The end of a call whose message was sent by a process that has ended before it knew the task. */
export function toUnknownEnd(name: string): RemoteError {
  return toRemoteError(
    "interrupted",
    `the call of agent ${name} was interrupted before it had told its task, so whether it took effect is unknown`,
  );
}
