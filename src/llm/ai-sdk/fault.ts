import { fieldOf, isInstance, messageOf } from "../../errors.ts";
import { ModelError } from "../../ports/model.ts";

/** Tells what went wrong with a provider of the AI SDK, and whether another try may do better. */
export function toModelError(model: string, thrown: unknown): ModelError {
  if (isInstance(thrown, ModelError)) return thrown;
  const retryAfterMs = toRetryAfterMs(fieldOf(thrown, "responseHeaders"));
  return new ModelError(`${model}: ${messageOf(thrown) || "the completion failed"}`, {
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

/** This many causes of an error are looked at: an error may be its own cause. */
const CAUSES = 10;

/** A fault that passes: the provider says so, or the network did not get as far as the provider. */
function isTransient(thrown: unknown): boolean {
  let fault = thrown;
  for (let depth = 0; isInstance(fault, Error) && depth < CAUSES; depth += 1) {
    const status = fieldOf(fault, "statusCode");
    if (fieldOf(fault, "isRetryable") === true || fieldOf(fault, "name") === BROKEN_STREAM) return true;
    if (typeof status === "number" && (status >= 500 || TRY_AGAIN.has(status))) return true;
    const code = fieldOf(fault, "code");
    if (typeof code === "string" && NETWORK_CODE.test(code)) return true;
    fault = fieldOf(fault, "cause");
  }
  return false;
}

/** How long the provider wants to be left alone. */
function toRetryAfterMs(headers: unknown): number | undefined {
  const ms = toNumber(fieldOf(headers, "retry-after-ms"));
  const seconds = toNumber(fieldOf(headers, "retry-after"));
  if (ms >= 0) return ms;
  return seconds >= 0 ? seconds * 1_000 : undefined;
}

function toNumber(header: unknown): number {
  return typeof header === "string" ? Number.parseFloat(header) : Number.NaN;
}
