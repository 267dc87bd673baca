import { AgentError } from "../../errors.ts";
import type { ErrorCode, ErrorDetails } from "../../errors.ts";
import { readResponseJson } from "./body.ts";
import { canonical } from "../../protocol/json.ts";
import { systemClock } from "./clock.ts";
import type { Clock } from "../../shared/clock.ts";
import { fromProblem, hasCode } from "./problem.ts";

/** How to reach a server. */
export interface WireOptions {
  /** Sent as `Authorization: Bearer`. */
  readonly token?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** Query parameters by name, which is sent as the protocol spells it: `run_id` for `runId`. Those that are undefined are left out. */
export type QueryParameters = Readonly<Record<string, string | number | boolean | undefined>>;

/** The parts of a request besides method and path. */
export interface Ask {
  readonly query?: QueryParameters;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent unchanged, with the type given in `headers`. */
  readonly raw?: Content;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Maximum time for the answer in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
}

/** A request body for `fetch`. */
export type Content = NonNullable<RequestInit["body"]>;

/** An answer with its body read. */
export interface WireReply {
  readonly status: number;
  readonly headers: Headers;
  /** The body; `undefined` when there is none. */
  readonly json: unknown;
}

/** The query of the next page of a list, by the Link header of an answer; empty on the last page. */
export function nextQuery(headers: Headers): URLSearchParams {
  return new URLSearchParams(headers.get("link")?.match(/\?([^>#]+)>;\s*rel="next"/)?.[1]);
}

/** An answer whose body is not read yet. */
export interface OpenReply {
  readonly response: Response;
  /** Closes the connection. */
  close(reason?: AgentError): void;
}

const TIMEOUT_MS = 30_000;

const fetchIds = new WeakMap<typeof fetch, number>();
let fetches = 0;

/**
 * The connection to one agent or server. It throws only AgentErrors, or the reason of the caller's signal.
 */
export class Wire {
  readonly url: string;
  readonly clock: Clock;
  /** How messages name the other side. */
  readonly subject: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #given: typeof fetch;
  readonly #fetch: typeof fetch;

  constructor(
    url: string,
    { token, headers = {}, fetch = globalThis.fetch }: WireOptions,
    { clock = systemClock, subject }: { readonly clock?: Clock; readonly subject?: string } = {},
  ) {
    const { origin, pathname, host } = parseAddress(url);
    this.url = origin + pathname.replace(/\/+$/, "");
    this.clock = clock;
    this.subject = subject ?? host;
    this.#headers = { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
    this.#given = fetch;
    // The `fetch` of a browser refuses to be called as a method.
    this.#fetch = (input, init) => fetch(input, init);
  }

  /**
   * A text that is equal for connections that send the same: to the same address, with the same headers, by the same
   * `fetch`. It contains the credentials.
   */
  get key(): string {
    let fetchId = fetchIds.get(this.#given);
    if (fetchId === undefined) {
      fetchId = fetches += 1;
      fetchIds.set(this.#given, fetchId);
    }
    return JSON.stringify([this.url, canonical(this.#headers), fetchId]);
  }

  /** The absolute URL of one that the server gave. */
  resolve(url: string): URL | undefined {
    return URL.canParse(url, `${this.url}/`) ? new URL(url, `${this.url}/`) : undefined;
  }

  /** Sends a request and reads the answer; throws a refusal. */
  async ask(method: string, path: string, ask: Ask = {}): Promise<WireReply> {
    const { timeoutMs = TIMEOUT_MS } = ask;
    const { response, close } = await this.open(method, path, ask);
    const stop = this.#limit(timeoutMs, close);
    try {
      const { status, headers } = response;
      return { status, headers, json: await readResponseJson(response, this) };
    } catch (thrown) {
      ask.signal?.throwIfAborted();
      throw this.toFault(thrown);
    } finally {
      stop();
      close();
    }
  }

  /**
   * Opens a file by the URL that the server gave. A server that does not know the prefix below which it is reached
   * gives a path without it; the file is then below the address of the agent.
   */
  async openFile(url: string, ask: Ask = {}): Promise<OpenReply> {
    const address = this.resolve(url);
    if (address === undefined)
      throw new AgentError("invalid_request", `${JSON.stringify(url)} is not an http URL`);
    const below = `${this.url}${url}`;
    try {
      return await this.open("GET", address.href, ask);
    } catch (thrown) {
      if (!hasCode(thrown, "not_found") || !url.startsWith("/artifacts/") || address.href === below)
        throw thrown;
      return this.open("GET", below, ask);
    }
  }

  /** Sends a request and leaves the body to be read; throws a refusal. The caller must close the reply. */
  async open(
    method: string,
    path: string,
    { query = {}, body, raw, headers, signal, timeoutMs = TIMEOUT_MS }: Ask = {},
  ): Promise<OpenReply> {
    const stop = new AbortController();
    const hangUp = (): void => stop.abort(signal?.reason);
    signal?.addEventListener("abort", hangUp);
    if (signal?.aborted === true) hangUp();
    const close = (reason?: AgentError): void => {
      signal?.removeEventListener("abort", hangUp);
      stop.abort(reason);
    };
    const stopTimer = this.#limit(timeoutMs, close);
    try {
      const content = raw ?? (body === undefined ? undefined : JSON.stringify(body));
      const address = new URL(URL.canParse(path) ? path : `${this.url}${path}`);
      for (const [name, value] of Object.entries(query))
        if (value !== undefined)
          address.searchParams.set(name.replace(/[A-Z]/g, "_$&").toLowerCase(), String(value));
      // A file can be on another host, which must not get our credentials.
      const isOurs = address.origin === new URL(this.url).origin;
      const response = await this.#fetch(address.href, {
        method,
        signal: stop.signal,
        redirect: "manual",
        cache: "no-store",
        ...(content !== undefined && { body: content }),
        headers: {
          accept: "application/json, text/event-stream",
          ...(body !== undefined && { "content-type": "application/json" }),
          ...(isOurs && this.#headers),
          ...headers,
        },
        // Required for a stream body, ignored for others.
        ...(raw instanceof ReadableStream && { duplex: "half" }),
      });
      if (response.ok) return { response, close };
      const { status, headers: received } = response;
      // A browser hides the status of a redirect: it is 0.
      if (status < 400) throw this.fault("call_failed", "answers with a redirect, which is not followed");
      // If the body cannot be read, only the status is used.
      const problem = await readResponseJson(response, this).catch(() => {});
      throw fromProblem(this.subject, status, received, problem);
    } catch (thrown) {
      close();
      signal?.throwIfAborted();
      throw this.toFault(stop.signal.reason instanceof AgentError ? stop.signal.reason : thrown);
    } finally {
      stopTimer();
    }
  }

  /** An error of the other side; `what` continues a sentence that begins with its name. */
  fault(code: ErrorCode, what: string, details?: ErrorDetails): AgentError {
    return new AgentError(code, `${this.subject} ${what}`, details);
  }

  /** Converts an error of `fetch` to an AgentError. */
  toFault(thrown: unknown): AgentError {
    if (thrown instanceof AgentError) return thrown;
    return this.fault("unavailable", "cannot be reached", { cause: thrown });
  }

  /** Closes a connection after a time; returns the end of the timer. */
  #limit(ms: number, close: OpenReply["close"]): () => void {
    return this.clock.timer(ms, () => close(this.fault("timeout", `did not answer within ${ms} ms`)));
  }
}

/** Parses the address of a server or agent. */
export function parseAddress(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    throw new AgentError("invalid_request", `${JSON.stringify(url)} is not an http URL`);
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new AgentError("invalid_request", "a URL must not have credentials: use the option token");
  }
  return parsed;
}
