import { STATUS_CODES, createServer } from "node:http";
import type { RequestListener, Server as HttpServer, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { AgentError } from "../errors.ts";
import { createApp } from "../http/app.ts";
import type { AppOptions } from "../http/app.ts";
import { toProblem } from "../http/messages/problem.ts";
import type { ProblemReply } from "../http/messages/problem.ts";
import { API_HEADERS } from "../http/messages/reply.ts";
import { createMetrics } from "../http/metrics/metrics.ts";
import type { Runtime } from "../runtime/api.ts";
import { CONNECTION_TIMEOUTS } from "./connection-timeouts.ts";
import { Listeners } from "./listener.ts";
import type { Listener, ListenerAddress } from "./listener.ts";
import { createListener } from "./request-listener.ts";
import { drainOnSignals } from "./signals.ts";
import type { DrainOptions } from "./signals.ts";

/** What `serve` takes. */
export interface ServeOptions extends Omit<AppOptions, "signal"> {
  /** Address to bind. Default 127.0.0.1; any address that is not loopback requires `authenticate`, or a token of 16 characters or more. */
  readonly hostname?: string;
  /** Default 0, which uses any free port. */
  readonly port?: number;
  /**
   * How SIGTERM and SIGINT end the process: the server and its runtime are stopped properly first. Default: with
   * 5 s for running turns. `false` leaves signals to the program.
   */
  readonly drain?: DrainOptions | false;
  /**
   * How long an idle connection is kept, from 1,000 to 600,000 ms. Default 5,000. Longer than a proxy in front keeps it, so that the
   * proxy sends no request on a connection that is just being closed.
   */
  readonly keepAliveMs?: number;
  /** Protocols with sockets of their own, which start and stop with the server. Default: none. */
  readonly listeners?: readonly Listener[];
}

/** A running HTTP server. */
export interface Server {
  readonly url: string;
  /** Where the protocols with sockets of their own are served. */
  readonly listeners: readonly ListenerAddress[];
  /** Makes each answer from now on the last one of its connection, so that clients and proxies connect anew. */
  drain(): void;
  /**
   * Stops accepting connections, ends all streams properly, and waits for running answers; after `graceMs`
   * (default 1 s) the rest is cut. The runtime keeps running.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * Serves a runtime over HTTP. Fails with `forbidden` if other machines could use it without a token or with a short one, and with
 * `unavailable` if it cannot listen.
 */
export async function serve(
  runtime: Runtime,
  {
    hostname = "127.0.0.1",
    port = 0,
    metrics = createMetrics(),
    drain = {},
    keepAliveMs = CONNECTION_TIMEOUTS.keepAliveTimeout,
    listeners = [],
    ...options
  }: ServeOptions = {},
): Promise<Server> {
  if (options.authenticate === undefined) checkToken(hostname, options.token);
  // Node would take another text as the path of a socket file.
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new AgentError(
      "invalid_request",
      `the port ${JSON.stringify(port)} is not a whole number from 0 to 65535`,
    );
  }
  if (!(keepAliveMs >= LEAST_KEEP_ALIVE_MS && keepAliveMs <= MOST_KEEP_ALIVE_MS)) {
    const range = `from ${LEAST_KEEP_ALIVE_MS} to ${MOST_KEEP_ALIVE_MS}`;
    throw new AgentError("invalid_request", `keepAliveMs is ${keepAliveMs}, not ${range}`);
  }
  const stopping = new AbortController();
  const allowedHosts = [...(options.allowedHosts ?? []), ...namesOf(hostname)];
  const app = createApp(runtime, { ...options, metrics, allowedHosts, signal: stopping.signal });
  const answer = createListener(app.fetch, metrics.fault);
  let isDraining = false;
  const listener: RequestListener = (incoming, outgoing) => {
    if (isDraining) outgoing.shouldKeepAlive = false;
    answer(incoming, outgoing);
  };
  const drainConnections = (): void => void (isDraining = true);
  const server = createServer({ ...SETTINGS, keepAliveTimeout: keepAliveMs }, listener);
  // The size of the headers is limited. Node would drop headers above a count without an error.
  server.maxHeadersCount = 0;
  server.maxConnections = 12_000;
  server.on("checkExpectation", listener);
  server.on("connect", refuseConnect);
  server.on("clientError", answerClientError);
  // Before the first request: a server whose other ports do not listen yet is not ready.
  const started = new Listeners(listeners, runtime, {
    report: metrics.fault,
    authenticated: options.authenticate !== undefined || options.token !== undefined,
  });
  try {
    await listen(server, hostname, port);
    await started.start();
  } catch (thrown) {
    await Promise.all([close(server, 0), started.close({ graceMs: 0 })]);
    throw thrown;
  }
  const { port: bound } = server.address() as AddressInfo;
  const stop = async (graceMs: number): Promise<void> => {
    stopping.abort();
    await Promise.all([close(server, graceMs), started.close({ graceMs })]);
  };
  const stopDraining =
    drain === false
      ? undefined
      : drainOnSignals(
          { drain: drainConnections, close: ({ graceMs = GRACE_MS } = {}) => stop(graceMs) },
          runtime,
          drain,
        );
  return {
    url: `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${bound}`,
    listeners: started.addresses,
    drain: drainConnections,
    close: ({ graceMs = GRACE_MS } = {}) => {
      stopDraining?.();
      return stop(graceMs);
    },
  };
}

const GRACE_MS = 1_000;

/** The server has a limit of connections, and an idle one counts. */
const [LEAST_KEEP_ALIVE_MS, MOST_KEEP_ALIVE_MS] = [1_000, 600_000] as const;

const TOKEN_CHARACTERS = 16;

/**
 * Connections that may wait to be taken: as many as systems allow. Those above Node's 511 were reset when a thousand deliveries came at
 * once and the machine was busy.
 */
const BACKLOG = 4_096;

const SETTINGS = {
  ...CONNECTION_TIMEOUTS,
  // The guard checks it; Node's own answer has no body.
  requireHostHeader: false,
  rejectNonStandardBodyWrites: true,
};

const IDLE_CHECK_MS = 20;

/** The host names that a bound address implies; a wildcard address implies none. */
function namesOf(hostname: string): string[] {
  if (hostname === "0.0.0.0" || hostname === "::") return [];
  return [hostname.includes(":") ? `[${hostname}]` : hostname];
}

/**
 * Throws `forbidden` if other machines reach an address, and there is no token or a short one: they can try ten wrong ones a
 * minute from each address.
 */
export function checkToken(hostname: string, token: string | undefined): void {
  if (isLoopback(hostname)) return;
  if (token !== undefined && token.length >= TOKEN_CHARACTERS) return;
  const fact =
    token === undefined
      ? "there is no token"
      : `the token has only ${token.length} character${token.length === 1 ? "" : "s"}`;
  throw new AgentError("forbidden", `${hostname} can be reached from other machines, and ${fact}`, {
    hint: `set a token of ${TOKEN_CHARACTERS} or more random characters (TROUPE_TOKEN), or bind 127.0.0.1 (--host)`,
  });
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "::1" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

async function listen(server: HttpServer, hostname: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ port, host: hostname, backlog: BACKLOG }, resolve);
  try {
    await promise;
  } catch (cause) {
    const why = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown error";
    const fact = why === "EADDRINUSE" ? "the port is taken" : why;
    throw new AgentError("unavailable", `cannot listen on ${hostname}, port ${port}: ${fact}`, { cause });
  }
  server.off("error", reject);
  // Later errors concern a single connection that could not be accepted; the others continue.
  server.on("error", () => {});
}

async function close(server: HttpServer, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // After a stream has ended, its connection stays open for a next request, which would not be accepted.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const grace = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(idle);
  clearTimeout(grace);
}

/** Answers data that is not a valid request: too slow, too large, or not HTTP. Then closes the connection. */
export function answerClientError(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (socket.writable && !isAnswered(socket)) socket.write(toAnswer(toProblemOf(error.code)));
  socket.destroy();
}

/** Refuses a CONNECT request: this server is not a proxy. Then closes the connection. */
function refuseConnect(_: unknown, socket: Duplex): void {
  const error = new AgentError("method_not_allowed", "this server is not a proxy; CONNECT is not supported");
  const { headers, ...problem } = toProblem(error);
  // Without this listener, a client that disconnects here would end the process.
  socket.on("error", () => {});
  socket.write(toAnswer({ ...problem, headers: { ...headers, Allow: "GET, HEAD, POST, DELETE" } }));
  socket.destroy();
}

/** Whether an answer has started; a second one would corrupt it. */
function isAnswered(socket: Duplex): boolean {
  // Node's own handler of this event reads the same field.
  const { _httpMessage: message } = socket as { readonly _httpMessage?: ServerResponse | null };
  return message?.headersSent === true;
}

function toAnswer({ status, headers, body }: ProblemReply): string {
  const all = {
    Connection: "close",
    "Content-Type": "application/problem+json",
    "Content-Length": Buffer.byteLength(body),
    ...API_HEADERS,
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`, ...lines, "", body].join("\r\n");
}

function toProblemOf(code: string | undefined): ProblemReply {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return toProblem(new AgentError("request_timeout", "the request arrived too slowly"));
    case "HPE_HEADER_OVERFLOW":
      return toProblem(
        new AgentError("too_large", "the request's target and headers are larger than 8192 bytes"),
        { status: 431, title: "Request Header Fields Too Large" },
      );
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return toProblem(new AgentError("too_large", "the body's chunk extensions are too large"));
    case undefined:
    default:
      return toProblem(new AgentError("invalid_request", "the request is not valid HTTP"));
  }
}
