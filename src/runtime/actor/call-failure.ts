import { AgentError, fieldOf, isInstance } from "../../errors.ts";
import type { FailedCall } from "../../errors.ts";
import { isModelCode } from "../../protocol/events/outcome-codes.ts";
import type { ModelErrorCode } from "../../protocol/events/outcome-codes.ts";
import type { Outcome } from "../replay/turn-journal.ts";

/**
 * The error that a failed call throws into the code that made it. It is made from the log only, so it is equal live and
 * on replay.
 */
export function toCallFailure(
  { code, message }: Extract<Outcome, { readonly ok: false }>,
  call: FailedCall,
): AgentError {
  return new AgentError(code, message, { call });
}

/** Whether a thrown value is the failure of a call that a crash interrupted and that must not be repeated. */
export function isInterruption(thrown: unknown): boolean {
  return codeOfCall(thrown) === "interrupted";
}

/** Whether a thrown value only passes on the error of a called tool or agent, which is logged where it was thrown. */
export function isPassedOn(thrown: unknown): boolean {
  return codeOfCall(thrown) === "tool_error";
}

/** Why a model gave no answer, if that is what a thrown value says. The caller of an agent gets the same code. */
export function modelCodeOf(thrown: unknown): ModelErrorCode | undefined {
  const code = isInstance(thrown, AgentError) ? fieldOf(thrown, "code") : undefined;
  return isModelCode(code) ? code : undefined;
}

/** The error code of a failed call whose error was thrown; `undefined` for any other thrown value. */
function codeOfCall(thrown: unknown): unknown {
  if (!isInstance(thrown, AgentError) || fieldOf(thrown, "callId") === undefined) return undefined;
  return fieldOf(thrown, "code");
}
