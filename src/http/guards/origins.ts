import type { Context } from "hono";
import { AgentError } from "../../errors.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { pathIn } from "../messages/mount.ts";
import { quoted } from "./quoted.ts";

/** The pages that may use a server. */
export interface OriginCheck {
  /** What the server does with a request of a web page: refuse it by throwing, answer a preflight, or serve it. */
  check(c: Context<AppEnv>, host: string): "preflight" | "served";
  /** The headers of the answer to a preflight. */
  readonly preflight: Readonly<Record<string, string>>;
}

/** Headers, besides those of the native protocol, that pages of allowed origins may send and read. */
export interface CrossOriginHeaders {
  readonly request?: readonly string[];
  readonly response?: readonly string[];
}

/**
 * Creates the check of the page that sent a request. Pages of allowed origins may also read the answer, except where
 * `isOwn` is true. People may come from other sites to the paths of `isVisited`. Programs other than browsers send no origin and pass.
 */
export function createOriginCheck(
  allowedOrigins: readonly string[],
  more: readonly CrossOriginHeaders[],
  isOwn: (c: Context<AppEnv>) => boolean,
  report: (line: string) => void = () => {},
  isVisited: (path: string) => boolean = () => false,
): OriginCheck {
  const reported = new Set<string>();

  const allowed = new Set(allowedOrigins.map(toOrigin));
  const cors = {
    "access-control-expose-headers": [...READABLE, ...more.flatMap(({ response = [] }) => response)].join(
      ", ",
    ),
    vary: "Origin",
  };

  function check(c: Context<AppEnv>, host: string): "preflight" | "served" {
    const origin = c.req.header("origin");
    if (origin === undefined) {
      const site = c.req.header("sec-fetch-site");
      if ((site === "cross-site" || site === "same-site") && !isVisit(c, isVisited)) {
        throw new AgentError("forbidden", "pages of other sites may not use this server", { hint: HINT });
      }
      return "served";
    }
    if (allowed.has(origin) && !isOwn(c)) {
      c.set("cors", { ...cors, "access-control-allow-origin": origin });
      const asks = c.req.method === "OPTIONS" && c.req.header("access-control-request-method") !== undefined;
      return asks ? "preflight" : "served";
    }
    if (origin === `http://${host}` || origin === `https://${host}`) return "served";
    if (!allowed.has(origin)) reportOnce(origin);
    const [what, hint] = allowed.has(origin)
      ? [`${quoted(pathIn(c))}, which is for the server's own pages`, OWN_HINT]
      : ["this server", HINT];
    throw new AgentError("forbidden", `pages of ${quoted(origin)} may not use ${what}`, { hint });
  }

  /** A browser tells its page nothing of the refusal, so the people who run the server learn of it here. */
  function reportOnce(origin: string): void {
    if (reported.size >= REPORTED_LIMIT || reported.has(origin)) return;
    const isNamed = URL.canParse(origin) && new URL(origin).origin === origin;
    // Any other text is not from a browser.
    if (!isNamed && origin !== "null") return;
    reported.add(origin);
    const line = isNamed
      ? `a page of ${origin} was refused; to allow such pages: --allowed-origin ${origin}`
      : "a page without an origin was refused, for example one that was opened as a file; serve it over HTTP to allow it";
    report(reported.size < REPORTED_LIMIT ? line : `${line}; no more such lines follow`);
  }

  const preflight = {
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": [...SENDABLE, ...more.flatMap(({ request = [] }) => request)].join(", "),
    "access-control-max-age": "600",
  };
  return { check, preflight };
}

/** A page can send requests from any number of origins. */
const REPORTED_LIMIT = 100;

const SENDABLE = ["content-type", "authorization", "last-event-id"];
const READABLE = ["Location", "Link", "Retry-After", "Idempotent-Replayed"];

const HINT = "allow the page's origin with --allowed-origin or the option allowedOrigins";
const OWN_HINT = "open the console at the address of the server";

/** An entry as browsers send it: `https://app.example`, without a path. */
function toOrigin(entry: string): string {
  const url = URL.canParse(entry) ? new URL(entry) : undefined;
  if (url !== undefined && url.origin !== "null" && `${url.origin}/` === url.href) return url.origin;
  throw new AgentError("invalid_request", `the allowed origin ${quoted(entry)} is not an origin`, {
    hint: "write https://app.example or http://localhost:3000; there is no entry for all origins",
  });
}

/** A user who typed the address or followed a link to the front page, or to another page that is visited. */
function isVisit(c: Context<AppEnv>, isVisited: (path: string) => boolean): boolean {
  const path = pathIn(c);
  return (
    c.req.method === "GET" &&
    (path === "/" || isVisited(path)) &&
    c.req.header("sec-fetch-mode") === "navigate" &&
    c.req.header("sec-fetch-dest") === "document"
  );
}
