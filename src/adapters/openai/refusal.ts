import { AgentError } from "../../errors.ts";
import type { Refusal } from "../../http/messages/refusal.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import type { TurnError } from "../../protocol/events/outcome-codes.ts";

/** An error in the words of the protocol. */
export interface ErrorObject {
  readonly message: string;
  readonly type: string;
  /** The field of the request that is wrong. */
  readonly param: string | null;
  readonly code: string | null;
}

/** An error in the words of the protocol; what does not fit is 400 here, and what was removed does not exist. */
export function toRefusal({ code, message, details: { hint, issues = [] } }: AgentError): Refusal {
  const [issue] = issues;
  const param = issue?.path ?? null;
  const status = STATUSES[code];
  const error: ErrorObject = {
    message: hint === undefined ? message : `${message}; ${hint}`,
    type: TYPES[code] ?? "invalid_request_error",
    param: param === "" ? null : param,
    code: code === "not_found" && param === "model" ? "model_not_found" : (CODES[code] ?? code),
  };
  return { body: JSON.stringify({ error }), ...(status !== undefined && { status }) };
}

/** A turn that has not succeeded, in the words of the protocol, and the status of an answer that is nothing else. */
export function toTurnFailure(error: TurnError | undefined): {
  readonly status: number;
  readonly error: ErrorObject;
} {
  const { code, message } = error ?? { code: "canceled", message: "the request was canceled" };
  return { status: error === undefined ? 409 : 500, error: toServerError(message, code) };
}

/** A fault that is none of the request. */
export function toServerError(message: string, code: string): ErrorObject {
  return { message, type: "server_error", param: null, code };
}

/** The error for a parameter that the server cannot honor. */
export function unsupported(parameter: string, why: string): AgentError {
  return wrongField(parameter, `is not supported: ${why}`);
}

/** The error for a model that is no agent. */
export function unknownModel(model: string, hint?: string): AgentError {
  const message = `the model ${JSON.stringify(model)} does not exist`;
  return new AgentError("not_found", message, {
    issues: [{ path: "model", message }],
    ...(hint !== undefined && { hint }),
  });
}

const STATUSES: Readonly<Record<string, number>> = { unprocessable: 400, gone: 404 };

const TYPES: Readonly<Record<string, string>> = {
  internal: "server_error",
  unavailable: "server_error",
  overloaded: "rate_limit_error",
};

const CODES: Readonly<Record<string, string>> = {
  unauthorized: "invalid_api_key",
  unprocessable: "invalid_value",
  overloaded: "rate_limit_exceeded",
};
