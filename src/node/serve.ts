import { createServer } from "node:http";
import type { Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { AgentError } from "../errors.ts";
import { createApp } from "../http/app.ts";
import type { AppOptions } from "../http/app.ts";
import { createMetrics } from "../http/metrics/metrics.ts";
import type { Runtime } from "../runtime/api.ts";
import { answerClientError, refuseConnect } from "./client-error.ts";
import { CONNECTION_TIMEOUTS } from "./connection-timeouts.ts";
import { createListener } from "./request-listener.ts";
import { startListeners } from "./listener.ts";
import type { Listener, ListenerAddress } from "./listener.ts";
import { drainOnSignals } from "./signals.ts";
import type { DrainOptions } from "./signals.ts";

/** What `serve` takes. */
export interface ServeOptions extends Omit<AppOptions, "signal"> {
  /** Address to bind. Default 127.0.0.1; any address that is not loopback requires a token. */
  readonly hostname?: string;
  /** Default 0, which uses any free port. */
  readonly port?: number;
  /**
   * How SIGTERM and SIGINT end the process: the server and its runtime are stopped properly first. Default: with
   * 5 s for running turns. `false` leaves signals to the program.
   */
  readonly drain?: DrainOptions | false;
  /** Protocols with sockets of their own, which start and stop with the server. Default: none. */
  readonly listeners?: readonly Listener[];
}

/** A running HTTP server. */
export interface Server {
  readonly url: string;
  /** Where the protocols with sockets of their own are served. */
  readonly listeners: readonly ListenerAddress[];
  /**
   * Stops accepting connections, ends all streams properly, and waits for running answers; after `graceMs`
   * (default 1 s) the rest is cut. The runtime keeps running.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * Serves a runtime over HTTP. Fails with `forbidden` if other machines could use it without a token, and with
 * `unavailable` if it cannot listen.
 */
export async function serve(
  runtime: Runtime,
  {
    hostname = "127.0.0.1",
    port = 0,
    metrics = createMetrics(),
    drain = {},
    listeners = [],
    ...options
  }: ServeOptions = {},
): Promise<Server> {
  if (!isLoopback(hostname) && options.token === undefined) {
    throw new AgentError(
      "forbidden",
      `${hostname} can be reached from other machines, and there is no token`,
      {
        hint: "set a token (TROUPE_TOKEN), or bind 127.0.0.1 (--host)",
      },
    );
  }
  // Node would take another text as the path of a socket file.
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new AgentError(
      "invalid_request",
      `the port ${JSON.stringify(port)} is not a whole number from 0 to 65535`,
    );
  }
  const stopping = new AbortController();
  const allowedHosts = [...(options.allowedHosts ?? []), ...namesOf(hostname)];
  const app = createApp(runtime, { ...options, metrics, allowedHosts, signal: stopping.signal });
  const listener = createListener(app.fetch, metrics.fault);
  const server = createServer(SETTINGS, listener);
  // The size of the headers is limited. Node would drop headers above a count without an error.
  server.maxHeadersCount = 0;
  server.maxConnections = 12_000;
  server.on("checkExpectation", listener);
  server.on("connect", refuseConnect);
  server.on("clientError", answerClientError);
  await listen(server, hostname, port);
  const { port: bound } = server.address() as AddressInfo;
  const started = await startListeners(listeners, runtime, metrics.fault).catch(async (thrown: unknown) => {
    await close(server, 0);
    throw thrown;
  });
  const stop = async (graceMs: number): Promise<void> => {
    stopping.abort();
    await Promise.all([close(server, graceMs), started.close({ graceMs })]);
  };
  const stopDraining =
    drain === false
      ? undefined
      : drainOnSignals({ close: ({ graceMs = GRACE_MS } = {}) => stop(graceMs) }, runtime, drain);
  return {
    url: `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${bound}`,
    listeners: started.addresses,
    close: ({ graceMs = GRACE_MS } = {}) => {
      stopDraining?.();
      return stop(graceMs);
    },
  };
}

const GRACE_MS = 1_000;

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

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "::1" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

async function listen(server: HttpServer, hostname: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, hostname, resolve);
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
