import { AgentError } from "../../errors.ts";

/** The refusal of something for which a mailbox has no room. */
export function overloaded(message: string, isFinal: boolean, hint?: string): AgentError {
  return new AgentError("overloaded", message, {
    ...(hint !== undefined && { hint }),
    // The sender is told that waiting is of no use.
    ...(isFinal ? { facts: { full: "refuse" } } : { retryAfterS: 1 }),
  });
}
