import { AgentError } from "../../../errors.ts";
import type { RemoteError } from "../../../runtime/agent/remote-port.ts";
import { STATUS, toCallStatus } from "../rpc/status.ts";

/** A failed end with a code for the caller. */
export function toFailure(
  code: "interrupted" | "timeout" | "unsupported_input" | "failed",
  message: string,
): RemoteError {
  switch (code) {
    case "unsupported_input":
      return { ok: false, toolCode: "invalid_input", turnCode: code, message };
    case "interrupted":
    case "timeout":
      return { ok: false, toolCode: code, turnCode: code, message };
    default: {
      const _: "failed" = code;
      return { ok: false, toolCode: "tool_error", turnCode: "agent_error", message };
    }
  }
}

/** The end of a call in which something was thrown; `sent` is true if the other side may have got the request. */
export function toFailedEnd(thrown: unknown, name: string, sent: boolean): RemoteError {
  if (thrown instanceof AgentError) {
    if (thrown.code === "timeout") return toFailure("timeout", thrown.message);
    if (thrown.code === "unprocessable") return toFailure("unsupported_input", thrown.message);
    return toFailure("failed", `${name} could not be called: ${thrown.message}`);
  }
  const { code, details } = toCallStatus(thrown);
  if (sent && (code === STATUS.unavailable || code === STATUS.cancelled || code === STATUS.unknown))
    return toFailure("interrupted", `${name} has broken off; whether the call took effect is unknown`);
  return toFailure("failed", `${name} refused the call: ${details}`);
}

/** The end of a call that an earlier process has sent. */
export function toInterrupted(name: string): RemoteError {
  return toFailure(
    "interrupted",
    `the call of ${name} was interrupted; AIP cannot resume it, and whether it took effect is unknown`,
  );
}
