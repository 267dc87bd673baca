import { fieldOf, isInstance, messageOf } from "../../errors.ts";
import { ModelError } from "../../ports/model.ts";

/** Converts an error of an AI SDK provider, and decides whether a retry can succeed. */
export function toModelError(model: string, thrown: unknown): ModelError {
  if (isInstance(thrown, ModelError)) return thrown;
  const retryAfterMs = toRetryAfterMs(fieldOf(thrown, "responseHeaders"));
  return new ModelError(`${model}: ${messageOf(thrown) || "the completion failed"}${placeOf(thrown)}`, {
    transient: isTransient(thrown),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    cause: thrown,
  });
}

/** The address that was asked and its status; without user, password and query, which can hold secrets. */
function placeOf(thrown: unknown): string {
  const url = fieldOf(thrown, "url");
  if (typeof url !== "string" || !URL.canParse(url)) return "";
  const { origin, pathname } = new URL(url);
  const status = fieldOf(thrown, "statusCode");
  return ` (${typeof status === "number" ? `HTTP ${status} from ` : ""}${origin}${pathname})`;
}

/** Client error statuses that are transient. */
const TRY_AGAIN = new Set([408, 409, 425, 429]);

/** The SDK's error for a stream that broke off or was invalid. */
const BROKEN_STREAM = "AI_InvalidResponseDataError";

/** Error codes of sockets and of fetch. */
const NETWORK_CODE = /^(E[A-Z]+|UND_ERR_[A-Z_]+)$/;

/** Maximum number of causes to look at: an error can be its own cause. */
const CAUSES = 10;

/** Whether a failure is transient: the provider says so, or the network failed. */
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

/** The retry delay that the provider asks for. */
function toRetryAfterMs(headers: unknown): number | undefined {
  const ms = toNumber(fieldOf(headers, "retry-after-ms"));
  const seconds = toNumber(fieldOf(headers, "retry-after"));
  if (ms >= 0) return ms;
  return seconds >= 0 ? seconds * 1_000 : undefined;
}

function toNumber(header: unknown): number {
  return typeof header === "string" ? Number.parseFloat(header) : Number.NaN;
}
