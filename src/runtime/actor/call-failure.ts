import { AgentError, fieldOf, isInstance } from "../../errors.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Outcome } from "../replay/turn-journal.ts";

/** The error that a failed call throws into the code that made it. */
export function toCallFailure(
  { code, message }: Extract<Outcome, { readonly ok: false }>,
  callId: CallId,
): AgentError {
  return new AgentError("call_failed", message, { facts: { code, call_id: callId } });
}

/** Whether a thrown value is the failure of a call that a crash interrupted and that must not be repeated. */
export function isInterruption(thrown: unknown): boolean {
  return codeOfCall(thrown) === "interrupted";
}

/** Whether a thrown value only passes on the error of a called tool or agent, which is logged where it was thrown. */
export function isPassedOn(thrown: unknown): boolean {
  return codeOfCall(thrown) === "tool_error";
}

/** How the call failed whose failure was thrown; `undefined` for any other value. */
function codeOfCall(thrown: unknown): unknown {
  if (!isInstance(thrown, AgentError) || fieldOf(thrown, "code") !== "call_failed") return undefined;
  return fieldOf(fieldOf(fieldOf(thrown, "details"), "facts"), "code");
}
