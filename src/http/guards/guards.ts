import type { Context, MiddlewareHandler } from "hono";
import { AgentError } from "../../errors.ts";
import { nodeOf } from "../messages/app-env.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { toProblem } from "../messages/problem.ts";
import { replyEmpty, replyProblem } from "../messages/reply.ts";
import { createTokenCheck } from "./token.ts";

/** Access rules of the server. */
export interface GuardOptions {
  /** Host names of the server, with or without a port, besides the loopback names. */
  readonly allowedHosts?: readonly string[];
  /** Origins, for example `https://app.example`, whose pages may use the server. Default: only its own. */
  readonly allowedOrigins?: readonly string[];
  /** If given, every request except health checks must send it as `Authorization: Bearer`. */
  readonly token?: string;
  /** Trust `X-Forwarded-Host` and `X-Forwarded-For` of a proxy. Default false. */
  readonly trustProxy?: boolean;
}

/**
 * Refuses requests that another site may have caused: from a browser that reached the server under a foreign
 * name (421), or from a page of another origin (403). Programs other than browsers send no origin and pass.
 */
export function createGuard({
  allowedHosts = [],
  allowedOrigins = [],
  token,
  trustProxy = false,
}: GuardOptions): MiddlewareHandler<AppEnv> {
  const hosts = new Set([...LOOPBACK, ...allowedHosts.map((host) => host.toLowerCase())]);
  const origins = new Set(allowedOrigins);
  const checkToken = token === undefined ? undefined : createTokenCheck(token, { trustProxy });

  return async (c, next) => {
    const forHealth = c.req.path === "/healthz" || c.req.path === "/readyz";
    const host = hostOf(c, trustProxy);
    if (!forHealth) checkHost(c, host);
    if (checkOrigin(c, host) === "preflight") {
      return replyEmpty(c, PREFLIGHT);
    }
    if (checkToken !== undefined && !forHealth) await checkToken(c);
    const expected = c.req.header("expect");
    if (expected !== undefined && !CONTINUE.test(expected)) return refuseExpectation(c, expected);
    return next();
  };

  function checkHost(c: Context<AppEnv>, host: string): void {
    if (!isServed(host)) throw misdirected(host);
    const target = nodeOf(c)?.incoming.url;
    // A target in absolute form contains a host of its own, which is checked like the header.
    if (target === undefined || target.startsWith("/")) return;
    const named = new URL(c.req.url).host;
    if (!isServed(named)) throw misdirected(named);
  }

  function isServed(host: string): boolean {
    const name = NAME_AND_PORT.exec(host)?.[1];
    return name !== undefined && (hosts.has(name) || hosts.has(host));
  }

  function checkOrigin(c: Context<AppEnv>, host: string): "preflight" | undefined {
    const origin = c.req.header("origin");
    if (origin === undefined) {
      const site = c.req.header("sec-fetch-site");
      if ((site === "cross-site" || site === "same-site") && !isVisit(c)) {
        throw new AgentError("forbidden", "pages of other sites may not use this server");
      }
      return undefined;
    }
    if (origins.has(origin)) {
      c.set("cors", { ...CORS, "access-control-allow-origin": origin });
      const asks = c.req.method === "OPTIONS" && c.req.header("access-control-request-method") !== undefined;
      return asks ? "preflight" : undefined;
    }
    if (origin === `http://${host}` || origin === `https://${host}`) return undefined;
    throw new AgentError("forbidden", `pages of ${shown(origin)} may not use this server`);
  }
}

/** Names of the local machine. They match on any port, because a container's port can be mapped. */
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

const NAME_AND_PORT = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/;

const CORS = {
  "access-control-expose-headers": "Location, Link, Retry-After, Idempotent-Replayed",
  vary: "Origin",
};

const PREFLIGHT = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers": "content-type, authorization, last-event-id",
  "access-control-max-age": "600",
};

function hostOf(c: Context<AppEnv>, trustProxy: boolean): string {
  const forwarded = trustProxy ? c.req.header("x-forwarded-host") : undefined;
  const host = forwarded ?? c.req.header("host");
  if (host !== undefined && host !== "") {
    // Two Host headers are joined by a comma, which no host contains.
    if (host.includes(","))
      throw new AgentError("invalid_request", "the request has more than one Host header");
    return host.toLowerCase();
  }
  if (nodeOf(c) !== undefined) throw new AgentError("invalid_request", "the request has no Host header");
  // A request in process has no header, only the URL.
  return new URL(c.req.url).host;
}

function misdirected(host: string): AgentError {
  return new AgentError("misdirected", `this server is not ${shown(host)}`, {
    hint: "allow the name with --allowed-host or the option allowedHosts",
  });
}

const CONTINUE = /^100-continue$/i;

function refuseExpectation(c: Context<AppEnv>, expected: string): Response {
  const error = new AgentError(
    "invalid_request",
    `the server cannot meet the expectation ${shown(expected)}`,
    {
      hint: "leave the Expect header away, or send 100-continue",
    },
  );
  return replyProblem(c, toProblem(error, { status: 417, title: "Expectation Failed" }));
}

/** A user who typed the address or followed a link to the front page. */
function isVisit(c: Context<AppEnv>): boolean {
  return (
    c.req.method === "GET" &&
    c.req.path === "/" &&
    c.req.header("sec-fetch-mode") === "navigate" &&
    c.req.header("sec-fetch-dest") === "document"
  );
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
