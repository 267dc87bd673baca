import type { AgentError } from "../../../errors.ts";
import type { Refusal } from "../../../http/messages/refusal.ts";

/** An error in the words of the protocol; its codes are written in upper case. */
export function toRefusal({ code, message, details }: AgentError): Refusal {
  const { hint, issues } = details;
  const error = {
    code: code.toUpperCase(),
    message: hint === undefined ? message : `${message}; ${hint}`,
    ...(issues !== undefined && { errors: issues }),
  };
  return { body: JSON.stringify({ error }) };
}
