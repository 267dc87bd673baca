import { fieldOf, isInstance, messageOf } from "../../errors.ts";
import { ModelError } from "../../ports/model.ts";
import type { ModelErrorCode } from "../../protocol/events/outcome-codes.ts";

/** The model that failed, for the message. */
export interface FailedModel {
  readonly name: string;
  /** The environment variable with its key, if that is known. */
  readonly keyVariable?: string | undefined;
  /** The media types of the documents and sounds that it was sent. */
  readonly sent?: readonly string[];
}

/** Converts an error of an AI SDK provider, and finds out why there is no answer. */
export function toModelError(thrown: unknown, { name, keyVariable, sent = [] }: FailedModel): ModelError {
  if (isInstance(thrown, ModelError)) return thrown;
  const code = toCode(thrown);
  const retryAfterMs = toRetryAfterMs(fieldOf(thrown, "responseHeaders"));
  const url = urlOf(thrown);
  const fix =
    code === "model_denied" && keyVariable !== undefined
      ? `; check ${keyVariable}`
      : code === "model_rejected" && sent.length > 0
        ? `; it was sent ${sent.join(", ")}: if it takes no such files, give it their names only with { files: false }`
        : "";
  return new ModelError(`${name}: ${toFact(thrown, url)}${fix}`, {
    ...(code && { code }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    // The log of the server shows it.
    cause: url ? new Error(`asked ${url.origin}${url.pathname}`, { cause: thrown }) : thrown,
  });
}

/** The variables from which the providers of the AI SDK read their keys, by the first part of their names. */
const KEY_VARIABLES: ReadonlyMap<string, string> = new Map([
  ["amazon-bedrock", "AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"],
  ["bedrock", "AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"],
  ["anthropic", "ANTHROPIC_API_KEY"],
  ["azure", "AZURE_API_KEY"],
  ["azure-openai", "AZURE_API_KEY"],
  ["cohere", "COHERE_API_KEY"],
  ["deepseek", "DEEPSEEK_API_KEY"],
  ["gateway", "AI_GATEWAY_API_KEY"],
  ["google", "GOOGLE_GENERATIVE_AI_API_KEY"],
  ["groq", "GROQ_API_KEY"],
  ["mistral", "MISTRAL_API_KEY"],
  ["openai", "OPENAI_API_KEY"],
  ["xai", "XAI_API_KEY"],
]);

/** The variable from which a provider of the AI SDK reads its key, for example of `openai.responses`. */
export function keyVariableOf(provider: string): string | undefined {
  return KEY_VARIABLES.get(provider.split(".")[0] ?? "");
}

/** The address that was asked. Only the log of the server shows it, without user, password and query. */
function urlOf(thrown: unknown): URL | undefined {
  const url = fieldOf(thrown, "url");
  return typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
}

/** What went wrong, for clients: they need not know where the server of a model is. */
function toFact(thrown: unknown, url: URL | undefined): string {
  const code = networkCodeOf(thrown);
  if (code !== undefined) return `the connection to its server failed (${code})`;
  const message = withoutAddress(messageOf(thrown) || "the completion failed", url);
  const status = fieldOf(thrown, "statusCode");
  return typeof status === "number" ? `${message} (HTTP ${status})` : message;
}

function withoutAddress(message: string, url: URL | undefined): string {
  if (url === undefined) return message;
  // A name without a dot can be any word of the message.
  const names = [url.host, ...(url.hostname.includes(".") ? [url.hostname] : [])];
  const isNamed = url.port !== "" || names.length > 1;
  const host = names.map((name) => name.replaceAll(/[.[\]]/g, String.raw`\$&`)).join("|");
  const place = String.raw`https?://(?:${host})[^\s"']*`;
  return message.replaceAll(new RegExp(isNamed ? `${place}|${host}` : place, "gi"), "its server");
}

/** Statuses, besides those from 500 on, with which a provider says that the same request may succeed later. */
const TRY_AGAIN = new Set([402, 408, 409, 425, 429]);

/** Errors of the SDK for a stream that broke off or was invalid, and for an answer without content. */
const BROKEN = new Set([
  "AI_InvalidResponseDataError",
  "AI_EmptyResponseBodyError",
  "AI_NoContentGeneratedError",
]);

/** Error codes of sockets and of fetch. */
const NETWORK_CODE = /^(E[A-Z]+|UND_ERR_[A-Z_]+)$/;

/** Maximum number of causes to look at: an error can be its own cause. */
const CAUSES = 10;

/** How providers say that a prompt does not fit; their statuses and codes differ. */
const TOO_LONG =
  /context_length_exceeded|exceed_context_size|maximum context length|context (length|window|size)|(prompt|input) is too long|too many (input |prompt )?tokens|token count.{0,40}exceeds|request_too_large/i;

/** How providers say that a content filter has blocked a prompt or an answer. */
const FILTERED =
  /content_filter|content_policy_violation|content management policy|ResponsibleAIPolicyViolation|PROHIBITED_CONTENT|blocked by (a |the )?content filter/i;

/** How providers say in a stream that they are busy or have a fault: there is no status then. */
const BUSY =
  /overloaded|rate.?limit|server_error|api_error|internal error|unavailable|timed? ?out|try again|at capacity|throttl/i;

/** Why there is no answer; `undefined` if that is unknown. */
function toCode(thrown: unknown): ModelErrorCode | undefined {
  const faults = causesOf(thrown);
  const status = faults.map((fault) => fieldOf(fault, "statusCode")).find((one) => typeof one === "number");
  const said = faults.map(toSaid).join("\n");
  if (faults.some((fault) => fieldOf(fault, "name") === "AI_LoadAPIKeyError")) return "model_denied";
  if (status === 401 || status === 403) return "model_denied";
  // A file of a kind that the model does not take.
  if (faults.some((fault) => fieldOf(fault, "name") === "AI_UnsupportedFunctionalityError"))
    return "model_rejected";
  if (status === undefined || (status >= 400 && status < 500 && !TRY_AGAIN.has(status))) {
    if (status === 413 || TOO_LONG.test(said)) return "context_overflow";
    if (FILTERED.test(said)) return "model_refused";
    if (status !== undefined) return "model_rejected";
  }
  const isAway = faults.some(
    (fault) =>
      fieldOf(fault, "isRetryable") === true ||
      BROKEN.has(String(fieldOf(fault, "name"))) ||
      isNetworkCode(fieldOf(fault, "code")),
  );
  if (isAway || status !== undefined) return "model_unavailable";
  // What a stream reports after it has begun is a text or an object of the provider.
  return isInstance(thrown, Error) || !BUSY.test(said) ? undefined : "model_unavailable";
}

/** What an error says, in its message, its body, or as the object that it is. */
function toSaid(fault: unknown): string {
  if (typeof fault === "string") return fault;
  const body = fieldOf(fault, "responseBody");
  if (isInstance(fault, Error)) return `${messageOf(fault)} ${typeof body === "string" ? body : ""}`;
  try {
    return JSON.stringify(fault) ?? "";
  } catch {
    return "";
  }
}

/** Why the network failed, if it did. */
function networkCodeOf(thrown: unknown): string | undefined {
  return causesOf(thrown)
    .map((fault) => fieldOf(fault, "code"))
    .find(isNetworkCode);
}

function isNetworkCode(code: unknown): code is string {
  return typeof code === "string" && NETWORK_CODE.test(code);
}

/** An error and its causes. */
function causesOf(thrown: unknown): readonly unknown[] {
  const faults: unknown[] = [];
  for (
    let fault = thrown;
    fault !== undefined && fault !== null && faults.length < CAUSES;
    fault = fieldOf(fault, "cause")
  )
    faults.push(fault);
  return faults;
}

/** The retry delay that the provider asks for, in milliseconds; in a header as milliseconds, as seconds or as a date. */
function toRetryAfterMs(headers: unknown): number | undefined {
  const ms = toNumber(fieldOf(headers, "retry-after-ms"));
  if (ms >= 0) return ms;
  const header = fieldOf(headers, "retry-after");
  const seconds = toNumber(header);
  if (seconds >= 0) return seconds * 1_000;
  // Relative to the provider's own clock; an answer without one says nothing that could be used.
  const pauseMs = toTime(header) - toTime(fieldOf(headers, "date"));
  return Number.isNaN(pauseMs) ? undefined : Math.max(pauseMs, 0);
}

function toNumber(header: unknown): number {
  return typeof header === "string" && /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) : Number.NaN;
}

function toTime(header: unknown): number {
  return typeof header === "string" ? Date.parse(header) : Number.NaN;
}
