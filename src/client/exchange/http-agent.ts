import { fieldOf } from "../../errors.ts";
import { ModelError } from "../../ports/model.ts";
import type { ModelErrorCode } from "../../protocol/events/outcome-codes.ts";
import type { Json } from "../../protocol/json.ts";
import type { Effect } from "../../runtime/agent/agent.ts";
import { CHAT } from "../../runtime/agent/agent.ts";
import type { MachineOperations } from "../../runtime/machine/from-machine.ts";
import { chunksOf } from "../wire/body.ts";
import { systemClock } from "../wire/clock.ts";
import { parseAddress } from "../wire/wire.ts";
import type { Content, WireOptions } from "../wire/wire.ts";
import {
  BadAnswer,
  decode,
  parseEvent,
  toData,
  toDocument,
  toJsonValue,
  toLines,
  withinBytes,
} from "./answer-event.ts";
import type { AnswerEvent, AnswerLimits } from "./answer-event.ts";
import { exchangeAgent, SILENCE_MS } from "./exchange-agent.ts";
import type { AskedExchange, ExchangeAgent, ExchangeOptions } from "./exchange-agent.ts";

/** What `httpAgent` takes. */
export interface HttpAgentOptions<Ops extends MachineOperations = MachineOperations>
  extends ExchangeOptions<Ops>, WireOptions {
  /** The address of the endpoint. Redirects are not followed. */
  readonly url: string;
  /**
   * Makes the request from the input of the operation; for a chat that is its text. Default: a POST with the JSON
   * `{input, operation?, answers?, state?}`, where `operation` is left out for a chat. The header `idempotency-key` has the
   * call id, if the request does not set it.
   */
  readonly toRequest?: (input: Json, asked: AskedExchange) => HttpRequest | Promise<HttpRequest>;
  /**
   * Reads the answer: strings are texts of the agent. Default, by content type: the data of `text/event-stream` and the lines
   * of NDJSON are events or texts as JSON, `application/json` is an event, a text or the output, anything else is text.
   */
  readonly toEvents?: (response: Response) => AsyncIterable<string | AnswerEvent>;
}

/** A request to an endpoint. */
export interface HttpRequest {
  /** Default `POST`. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: none. */
  readonly body?: Content;
}

/**
 * Makes an agent of any HTTP endpoint. Its answer is streamed as texts of the agent, and its result is journaled: a replay
 * sends no request again. A cancel closes the connection. Errors name the agent, not the address.
 *
 * @example
 * const translator = httpAgent({ name: "translator", purpose: "Translates.", url: "https://api.example.com/translate" });
 */
export function httpAgent<const Ops extends MachineOperations = Record<never, never>>(
  options: HttpAgentOptions<Ops>,
): ExchangeAgent<Ops> {
  const { href } = parseAddress(options.url);
  const subject = `the endpoint of agent ${options.name}`;
  const { toRequest = toDefaultRequest, toEvents, silenceMs = SILENCE_MS } = options;
  const { token, headers = {}, fetch: given = globalThis.fetch } = options;
  // The `fetch` of a browser refuses to be called as a method.
  const send: typeof fetch = (input, init) => given(input, init);

  return exchangeAgent(options, subject, async function* exchange(asked, { limits, effect, signal }) {
    const { method = "POST", headers: own = {}, body } = await toRequest(asked.input, asked);
    const sent = new Headers({
      accept: "text/event-stream, application/x-ndjson, application/json, text/*",
      "idempotency-key": asked.callId,
      ...(typeof body === "string" && { "content-type": "application/json" }),
    });
    if (token !== undefined) sent.set("authorization", `Bearer ${token}`);
    for (const [name, value] of [...Object.entries(headers), ...Object.entries(own)]) sent.set(name, value);
    const stop = new AbortController();
    const hangUp = (): void => stop.abort(signal.reason);
    signal.addEventListener("abort", hangUp);
    if (signal.aborted) hangUp();
    /** Waits for the endpoint; time in which the log is waited for does not count. */
    const soon = async <Value>(asking: Promise<Value>): Promise<Value> => {
      const silent = new ModelError(`${subject} sends nothing for ${silenceMs} ms`);
      const stopTimer = systemClock.timer(silenceMs, () => stop.abort(silent));
      try {
        return await asking;
      } catch (thrown) {
        signal.throwIfAborted();
        throw stop.signal.reason === silent ? silent : toFault(subject, thrown, effect);
      } finally {
        stopTimer();
      }
    };
    try {
      const init = {
        method,
        headers: sent,
        redirect: "manual",
        cache: "no-store",
        signal: stop.signal,
      } as const;
      const response = await soon(send(href, { ...init, ...(body !== undefined && { body }) }));
      if (!response.ok) throw toRefusal(subject, response, effect);
      const chunks = withinBytes(inTime(chunksOf(response), soon), limits);
      if (toEvents === undefined) yield* readAnswer(response, chunks, limits);
      else yield* toEvents(new Response(toStream(chunks), response));
    } finally {
      signal.removeEventListener("abort", hangUp);
      stop.abort();
    }
  });
}

/** The request of an agent that gives none. */
function toDefaultRequest(input: Json, { operation, answers, state }: AskedExchange): HttpRequest {
  return { body: toAskedJson({ operation, input, answers, state }) };
}

/** What is asked as JSON; the operation is left out for a chat. */
export function toAskedJson({
  operation,
  ...asked
}: {
  readonly operation: string;
  readonly [name: string]: unknown;
}): string {
  return JSON.stringify({ ...asked, ...(operation !== CHAT && { operation }) });
}

/** Reads an answer by its content type. */
async function* readAnswer(
  response: Response,
  chunks: AsyncIterable<Uint8Array>,
  limits: AnswerLimits,
): AsyncGenerator<string | AnswerEvent, void> {
  const type = (response.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const texts = decode(chunks);
  if (type === "text/event-stream") {
    for await (const data of toData(texts, limits)) yield toEventOfData(data);
  } else if (LINES.has(type)) {
    for await (const line of toLines(texts, limits)) if (line.trim() !== "") yield toEvent(toJsonValue(line));
  } else if (type === "application/json" || type.endsWith("+json")) {
    const document = await toDocument(texts, limits);
    if (document === undefined) return;
    if (typeof document === "string") yield document;
    else yield parseEvent(document) ?? { type: "output", output: document };
  } else yield* texts;
}

const LINES: ReadonlySet<string> = new Set([
  "application/x-ndjson",
  "application/ndjson",
  "application/jsonl",
  "application/x-jsonlines",
  "application/jsonlines",
]);

/** An event as the data of a server-sent event, which may also be a text as it is. */
function toEventOfData(data: string): string | AnswerEvent {
  let json: unknown;
  try {
    json = JSON.parse(data);
  } catch {
    return data;
  }
  // A text that looks like a number is one.
  return typeof json === "object" && json !== null ? toEvent(json) : typeof json === "string" ? json : data;
}

function toEvent(json: unknown): string | AnswerEvent {
  const event = typeof json === "string" ? json : parseEvent(json);
  if (event !== undefined) return event;
  throw new BadAnswer("sends an event of an unknown form, which only a `toEvents` of the agent can read");
}

/** The same chunks, each waited for with `soon`. */
async function* inTime(
  chunks: AsyncIterable<Uint8Array>,
  soon: <Value>(asking: Promise<Value>) => Promise<Value>,
): AsyncGenerator<Uint8Array, void> {
  const iterator = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await soon(iterator.next());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
}

function toStream(chunks: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const next = await chunks.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await chunks.return();
    },
  });
}

/** The error of a connection. One that could not be made has sent nothing, so another attempt does no harm. */
function toFault(subject: string, thrown: unknown, effect: Effect): unknown {
  if (!(thrown instanceof TypeError) && fieldOf(thrown, "name") !== "AbortError") return thrown;
  const code = fieldOf(fieldOf(thrown, "cause"), "code");
  const isConnected = typeof code !== "string" || !NOT_CONNECTED.has(code);
  const again = !isConnected || effect === "idempotent";
  return new ModelError(`${subject} ${isConnected ? "has broken off" : "cannot be reached"}`, {
    ...(again && { code: "model_unavailable" }),
    cause: thrown,
  });
}

const NOT_CONNECTED: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** The error of an answer that is a refusal. Its body is not read: it can contain anything. */
function toRefusal(subject: string, { status, headers, body }: Response, effect: Effect): ModelError {
  body?.cancel().catch(() => {});
  // A browser hides the status of a redirect: it is 0.
  if (status < 400) return new ModelError(`${subject} answers with a redirect, which is not followed`);
  const code = codeOf(status, effect);
  const retryAfterS = Number(headers.get("retry-after") ?? Number.NaN);
  return new ModelError(`${subject} answers ${status}`, {
    ...(code && { code }),
    ...(retryAfterS >= 0 && { retryAfterMs: retryAfterS * 1_000 }),
  });
}

function codeOf(status: number, effect: Effect): ModelErrorCode | undefined {
  // The request was refused before it had an effect.
  if (status === 429 || status === 503) return "model_unavailable";
  if (status === 401 || status === 403) return "model_denied";
  if (UNKNOWN_OUTCOME.has(status)) return effect === "idempotent" ? "model_unavailable" : undefined;
  return status < 500 ? "model_rejected" : undefined;
}

const UNKNOWN_OUTCOME: ReadonlySet<number> = new Set([408, 502, 504]);
