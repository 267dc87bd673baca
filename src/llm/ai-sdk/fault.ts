import { ModelError } from "../../ports/model.ts";

/** Tells what went wrong with a provider of the AI SDK, and whether another try may do better. */
export function toModelError(model: string, thrown: unknown): ModelError {
  if (thrown instanceof ModelError) return thrown;
  const retryAfterMs = toRetryAfterMs(fieldOf(thrown, "responseHeaders"));
  return new ModelError(`${model}: ${messageOf(thrown)}`, {
    transient: isTransient(thrown),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    cause: thrown,
  });
}

/** Statuses below 500 with which a server says that it is only not the time. */
const TRY_AGAIN = new Set([408, 409, 425, 429]);

/** The SDK's name for a stream that broke off, or that was no stream of a model. */
const BROKEN_STREAM = "AI_InvalidResponseDataError";

/** The codes of sockets and of fetch. */
const NETWORK_CODE = /^(E[A-Z]+|UND_ERR_[A-Z_]+)$/;

/** A fault that passes: the provider says so, or the network did not get as far as the provider. */
function isTransient(thrown: unknown): boolean {
  for (let fault = thrown; fault instanceof Error; fault = fault.cause) {
    const status = fieldOf(fault, "statusCode");
    if (fieldOf(fault, "isRetryable") === true || fault.name === BROKEN_STREAM) return true;
    if (typeof status === "number" && (status >= 500 || TRY_AGAIN.has(status))) return true;
    if (NETWORK_CODE.test(String(fieldOf(fault, "code")))) return true;
  }
  return false;
}

/** How long the provider wants to be left alone. */
function toRetryAfterMs(headers: unknown): number | undefined {
  const ms = Number.parseFloat(String(fieldOf(headers, "retry-after-ms")));
  const seconds = Number.parseFloat(String(fieldOf(headers, "retry-after")));
  if (ms >= 0) return ms;
  return seconds >= 0 ? seconds * 1_000 : undefined;
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error && thrown.message !== "" ? thrown.message : "the completion failed";
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as { readonly [name: string]: unknown })[name]
    : undefined;
}
