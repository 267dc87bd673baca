import type { AgentError, ErrorCode } from "../../../errors.ts";
import type { Refusal } from "../../../http/messages/refusal.ts";

/** An error in the words of the protocol. */
export function toRefusal({ code, message, details }: AgentError): Refusal {
  const status = STATUSES[code];
  const { hint, issues } = details;
  const text = hint === undefined ? message : `${message}; ${hint}`;
  return {
    body: JSON.stringify({ message: text, ...(issues !== undefined && { errors: issues }) }),
    ...(status !== undefined && { status }),
  };
}

/** The statuses that differ from the native ones. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  invalid_request: 422,
  unsupported_media_type: 422,
  gone: 404,
};
