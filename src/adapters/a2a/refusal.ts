import {
  A2AError,
  A2A_ERROR_CODE,
  RequestMalformedError,
  TaskNotFoundError,
  toJsonRpcError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";
import { toAgentError } from "../../errors.ts";
import type { AgentError } from "../../errors.ts";
import type { Refusal } from "../../http/messages/refusal.ts";

/** The errors of the protocol say what was wrong; those that only a status can say have no class. */
export function toProtocolError(thrown: unknown): A2AError | undefined {
  if (thrown instanceof A2AError) return thrown;
  const error = toAgentError(thrown);
  const message = textOf(error);
  switch (error.code) {
    case "not_found":
    case "gone":
      return new TaskNotFoundError(message);
    case "conflict":
      return new UnsupportedOperationError(message);
    case "invalid_request":
    case "unprocessable":
      return new RequestMalformedError(message);
    default:
      return undefined;
  }
}

/** An error as JSON-RPC has it. */
export function toRpcError(thrown: unknown): { readonly code: number; readonly message: string } {
  const known = toProtocolError(thrown);
  if (known !== undefined) return toJsonRpcError(known);
  const error = toAgentError(thrown);
  return { code: A2A_ERROR_CODE.INTERNAL_ERROR, message: textOf(error) };
}

/** A refusal that both bindings can read: those of JSON-RPC the code, those of HTTP the status beside it. */
export function toTaskRefusal(error: AgentError): Refusal {
  const { code, message } = toRpcError(error);
  const data = { code: error.code };
  return {
    body: JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message, data } }),
    ...(error.code === "unprocessable" && { status: 400 }),
  };
}

function textOf({ message, details: { hint } }: AgentError): string {
  return hint === undefined ? message : `${message}; ${hint}`;
}
