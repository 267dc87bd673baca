import type { AgentCard } from "@a2a-js/sdk";
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  ServiceParameters,
  withA2AExtensions,
} from "@a2a-js/sdk/client";
import type { Client, RequestOptions } from "@a2a-js/sdk/client";
import { AgentError } from "../../../errors.ts";
import type { MonotonicClock } from "../../../shared/clock.ts";
import { REPEATS } from "../message.ts";

/** How an agent of A2A is reached. */
export interface A2aConnectionOptions {
  /** Sent as `Authorization: Bearer`. */
  readonly token?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Other origins that its card may name, and that get the token and the headers too. Default: only that of its address. */
  readonly origins?: readonly string[];
  /** Other origins from which its files may be downloaded. Default: only that of its address. */
  readonly artifactOrigins?: readonly string[];
}

/** Times and sizes of a connection. */
export interface ConnectionLimits {
  /** Maximum time for an answer to begin, in milliseconds. */
  readonly answerMs: number;
  /** Maximum time without any bytes of a body. */
  readonly idleMs: number;
  /** Maximum bytes of one body. */
  readonly bytes: number;
}

/**
 * Reaches an agent of A2A by the client of the protocol. Requests go only to the origins that were allowed and follow no redirect, so
 * that a card cannot lead the server into its own network.
 */
export class A2aConnection {
  /** The origin of the agent's address. */
  readonly origin: string;
  readonly #cardUrl: string;
  readonly #subject: string;
  readonly #options: A2aConnectionOptions;
  readonly #clock: MonotonicClock;
  readonly #limits: ConnectionLimits;

  /** `subject` is how messages name the agent. */
  constructor(
    url: string,
    options: A2aConnectionOptions,
    {
      subject,
      clock,
      limits,
    }: { readonly subject: string; readonly clock: MonotonicClock; readonly limits: ConnectionLimits },
  ) {
    const address = parseAgentAddress(url);
    this.origin = address.origin;
    const path = address.pathname.replace(/\/+$/, "");
    this.#cardUrl = address.origin + (path.endsWith(".json") ? path : `${path}/.well-known/agent-card.json`);
    this.#subject = subject;
    this.#options = options;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Fetches the card. */
  async card(): Promise<AgentCard> {
    try {
      return await new DefaultAgentCardResolver({
        fetchImpl: this.#fetch,
        legacyCompat: { enabled: true },
      }).resolve(this.#cardUrl, "");
    } catch (thrown) {
      throw this.#toFault(thrown, "has no card that can be read");
    }
  }

  /** The client for the first of the agent's addresses whose binding it speaks. */
  async client(card: AgentCard): Promise<Client> {
    const made = { fetchImpl: this.#fetch, legacyCompat: { enabled: true } };
    const transports = [new JsonRpcTransportFactory(made), new RestTransportFactory(made)];
    try {
      return await new ClientFactory({ transports }).createFromAgentCard(card);
    } catch (thrown) {
      throw this.#toFault(thrown, "has no address that JSON-RPC or HTTP with JSON can be spoken to");
    }
  }

  /** Opens a file of the agent; `undefined` for an address that is not of an allowed origin. */
  async openFile(url: string, signal: AbortSignal): Promise<Response | undefined> {
    const { artifactOrigins = [] } = this.#options;
    const address = URL.canParse(url) ? new URL(url) : undefined;
    if (address === undefined || ![this.origin, ...artifactOrigins].includes(address.origin))
      return undefined;
    const response = await this.#send(address, { signal }, address.origin === this.origin);
    if (response.ok) return response;
    await response.body?.cancel();
    throw this.fault("call_failed", `published a file that answers with status ${response.status}`);
  }

  /** What goes with each request. */
  requestOptions(signal: AbortSignal, card: AgentCard): RequestOptions {
    const serviceParameters = hasRepeats(card)
      ? ServiceParameters.create(withA2AExtensions(REPEATS))
      : ServiceParameters.create();
    return { signal, serviceParameters };
  }

  /** An error of the other side; `what` continues a sentence that begins with its name. */
  fault(
    code: "call_failed" | "unavailable" | "timeout" | "too_large",
    what: string,
    cause?: unknown,
  ): AgentError {
    return new AgentError(code, `${this.#subject} ${what}`, { ...(cause !== undefined && { cause }) });
  }

  readonly #fetch: typeof fetch = (input, init = {}) => {
    const address = new URL(input instanceof Request ? input.url : input);
    const { origins = [] } = this.#options;
    if (![this.origin, ...origins].includes(address.origin))
      throw this.fault("call_failed", `names the address ${address.origin}, which is not that of its card`);
    return this.#send(address, init, true);
  };

  /** Sends a request, without credentials to origins that must not get them. */
  async #send(address: URL, init: RequestInit, isTrusted: boolean): Promise<Response> {
    const { token, headers: given = {}, fetch = globalThis.fetch } = this.#options;
    const headers = new Headers(init.headers);
    if (isTrusted) {
      for (const [name, value] of Object.entries(given)) headers.set(name, value);
      if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    }
    const late = new AbortController();
    const stop = this.#clock.timer(this.#limits.answerMs, () => late.abort());
    const signal = init.signal ? AbortSignal.any([init.signal, late.signal]) : late.signal;
    let response: Response;
    try {
      response = await fetch(address, { ...init, headers, signal, redirect: "manual" });
    } catch (thrown) {
      init.signal?.throwIfAborted();
      if (late.signal.aborted)
        throw this.fault("timeout", `did not answer within ${this.#limits.answerMs} ms`);
      throw this.fault("unavailable", "cannot be reached", thrown);
    } finally {
      stop();
    }
    const { status, body } = response;
    if (status === 0 || (status >= 300 && status < 400))
      throw this.fault("call_failed", "answers with a redirect, which is not followed");
    if (status === 401 || status === 403)
      throw this.fault("call_failed", `refuses the credentials (status ${status})`);
    if (status === 429 || status === 502 || status === 503 || status === 504)
      throw this.fault("unavailable", `is not available (status ${status})`);
    if (body === null) return response;
    const guarded = body.pipeThrough(this.#guard());
    return new Response(guarded, { status, headers: response.headers });
  }

  /** Ends a body that is too large, or silent for too long. */
  #guard(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
    const { idleMs, bytes: limit } = this.#limits;
    let bytes = 0;
    let stop = (): void => {};
    const watch = (controller: TransformStreamDefaultController<Uint8Array<ArrayBuffer>>): void => {
      stop();
      stop = this.#clock.timer(idleMs, () =>
        controller.error(this.fault("unavailable", `sent nothing for ${idleMs} ms`)),
      );
    };
    return new TransformStream({
      start: watch,
      transform: (chunk, controller) => {
        bytes += chunk.byteLength;
        if (bytes > limit) controller.error(this.fault("too_large", `sends more than ${limit} bytes`));
        else controller.enqueue(chunk);
        watch(controller);
      },
      flush: () => stop(),
      cancel: () => stop(),
    });
  }

  #toFault(thrown: unknown, what: string): AgentError {
    return thrown instanceof AgentError ? thrown : this.fault("call_failed", what, thrown);
  }
}

/** Whether an agent takes a message that is sent twice once. */
export function hasRepeats({ capabilities }: AgentCard): boolean {
  return capabilities?.extensions.some(({ uri }) => uri === REPEATS) ?? false;
}

/** Parses the address of an agent or of its card. */
export function parseAgentAddress(url: string): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (address === undefined || !/^https?:$/.test(address.protocol))
    throw new AgentError("invalid_request", `${JSON.stringify(url)} is not an http URL`);
  if (address.username !== "" || address.password !== "")
    throw new AgentError(
      "invalid_request",
      "a URL must not contain credentials; use the options token or headers",
    );
  return address;
}
