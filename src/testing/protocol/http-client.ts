import { isObject, parseJson } from "../../protocol/json.ts";
import { Mismatch, check } from "./mismatch.ts";
import { EventStream } from "./event-stream.ts";

/** An answer of the server: status, headers and the whole body. */
export interface HttpAnswer {
  /** The request, for messages. */
  readonly asked: string;
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** The body as JSON; `undefined` if it is not JSON. */
  readonly json: unknown;
}

/** The parts of a request besides method and path. */
export interface RequestParts {
  readonly query?: Query;
  /** Sent as JSON, unless it is bytes or `raw` is given. */
  readonly body?: unknown;
  /** Sent unchanged. */
  readonly raw?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Query parameters; a list is a repeated parameter. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** The connection to the server under test; every wait has a time limit. */
export class HttpClient {
  readonly baseUrl: string;
  readonly timeoutMs: number;
  readonly #token: string | undefined;

  constructor(baseUrl: string, { timeoutMs, token }: HttpClientOptions) {
    this.baseUrl = baseUrl.replace(/\/+$/, "");
    this.timeoutMs = timeoutMs;
    this.#token = token;
  }

  /** Resolves a URL that a server gave: absolute, from the root or relative. */
  resolve(url: string): string {
    return new URL(url, `${this.baseUrl}/`).href;
  }

  /**
   * Sends a request and reads the whole answer; a path is appended to the base URL, an absolute URL is used
   * as it is.
   */
  async ask(method: string, path: string, options: RequestParts = {}): Promise<HttpAnswer> {
    const stop = new AbortController();
    const asked = `${method} ${withQuery(path, options.query)}`;
    const timer = this.#limit(stop, asked);
    try {
      const response = await this.#fetch(method, path, options, stop.signal);
      return await toAnswer(asked, response);
    } catch (thrown) {
      throw toMismatch(thrown, asked);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a request for an event stream; any other answer is a Mismatch. */
  async stream(path: string, { method = "GET", ...options }: StreamRequestParts = {}): Promise<EventStream> {
    const stop = new AbortController();
    const asked = `${method} ${withQuery(path, options.query)}`;
    const timer = this.#limit(stop, asked);
    try {
      const response = await this.#fetch(method, path, options, stop.signal);
      const type = response.headers.get("content-type") ?? "";
      if (response.status !== 200 || !type.startsWith("text/event-stream")) {
        throw new Mismatch("200 and a text/event-stream", await toAnswer(asked, response));
      }
      return new EventStream(asked, response, { stop, timeoutMs: this.timeoutMs });
    } catch (thrown) {
      throw toMismatch(thrown, asked);
    } finally {
      clearTimeout(timer);
    }
  }

  #limit(stop: AbortController, asked: string): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      stop.abort(new Mismatch(`an answer within ${this.timeoutMs} ms`, `none on ${asked}`));
    }, this.timeoutMs);
  }

  #fetch(method: string, path: string, ask: RequestParts, signal: AbortSignal): Promise<Response> {
    const { query, body, raw, headers } = ask;
    const content = raw ?? (body === undefined ? null : JSON.stringify(body));
    const url = path.startsWith("http") ? path : `${this.baseUrl}${path}`;
    // The server may name a file of another host, which must not get the token.
    const isOurs = new URL(url).origin === new URL(this.baseUrl).origin;
    return fetch(withQuery(url, query), {
      method,
      signal,
      redirect: "manual",
      // A copy, because the type of a body requires its own buffer.
      body: content instanceof Uint8Array ? new Uint8Array(content) : content,
      headers: {
        accept: "application/json, text/event-stream",
        ...(content !== null && { "content-type": "application/json" }),
        ...(isOurs && this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
        ...headers,
      },
    });
  }
}

/** The limits and credentials for a server. */
export interface HttpClientOptions {
  readonly timeoutMs: number;
  readonly token: string | undefined;
}

/** A request whose answer is a stream. */
export interface StreamRequestParts extends RequestParts {
  readonly method?: string;
}

/** Checks that an answer has one of the given statuses. */
export function checkStatus(answer: HttpAnswer, ...statuses: readonly number[]): void {
  check(statuses.includes(answer.status), `status ${statuses.join(" or ")}`, answer);
}

/** Checks the status of an answer and returns its body, which must be a JSON object. */
export function bodyOf(answer: HttpAnswer, status: number): Readonly<Record<string, unknown>> {
  checkStatus(answer, status);
  const { json } = answer;
  check(isObject(json), "a JSON object as body", answer);
  return json;
}

/** Checks that an answer is a problem: a status, a code for programs, and a sentence for people. */
export function checkProblem(answer: HttpAnswer, status: number): Readonly<Record<string, unknown>> {
  const problem = bodyOf(answer, status);
  const type = answer.headers.get("content-type") ?? "";
  check(type.startsWith("application/problem+json"), "application/problem+json", { type, ...problem });
  check(typeof problem.code === "string" && problem.code !== "", "a code", answer);
  check(typeof problem.detail === "string" && problem.detail !== "", "a detail", answer);
  return problem;
}

function withQuery(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? value : [value]) parameters.append(name, String(item));
  }
  const text = parameters.toString();
  if (text === "") return path;
  return `${path}${path.includes("?") ? "&" : "?"}${text}`;
}

async function toAnswer(asked: string, response: Response): Promise<HttpAnswer> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const text = new TextDecoder().decode(bytes);
  const { status, headers } = response;
  return { asked, status, headers, bytes, text, json: parseJson(text) };
}

function toMismatch(thrown: unknown, asked: string): Mismatch {
  if (thrown instanceof Mismatch) return thrown;
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  return new Mismatch(`an answer on ${asked}`, cause);
}
