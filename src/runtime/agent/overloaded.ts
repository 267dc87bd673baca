import { AgentError } from "../../errors.ts";
import type { ErrorCode } from "../../errors.ts";

/** The refusal of something for which a mailbox has no room. */
export function overloaded(message: string, isFinal: boolean, hint?: string): AgentError {
  return new AgentError("overloaded", message, {
    ...(hint !== undefined && { hint }),
    ...(isFinal ? { facts: FINAL } : { retryAfterS: 1 }),
  });
}

/** Whether something that was refused may be taken later, so that it is sent again. */
export function isTakenLater({ code, details }: Pick<AgentError, "code" | "details">): boolean {
  return PASSING.has(code) && details.facts?.["full"] !== FINAL.full;
}

/** The fact of a refusal after which waiting is of no use. */
const FINAL = { full: "refuse" };

const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["unavailable", "internal", "overloaded"]);
