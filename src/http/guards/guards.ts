import type { Context, MiddlewareHandler } from "hono";
import { AgentError } from "../../errors.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { pathIn } from "../messages/mount.ts";
import type { Refuse } from "../messages/refusal.ts";
import { replyEmpty } from "../messages/reply.ts";
import { createHostCheck, hostOf } from "./hosts.ts";
import { createOriginCheck } from "./origins.ts";
import type { CrossOriginHeaders } from "./origins.ts";
import { quoted } from "./quoted.ts";
import { createTokenCheck } from "./token.ts";
import type { TokenCheck } from "./token.ts";

/** Access rules of the server. */
export interface GuardOptions {
  /**
   * Host names of the server, with or without a port, besides the loopback names. `*` allows every name and
   * requires a token.
   */
  readonly allowedHosts?: readonly string[];
  /** Origins, for example `https://app.example`, whose pages may use the server. Default: only its own. */
  readonly allowedOrigins?: readonly string[];
  /** If given, every request except health checks must send it as `Authorization: Bearer`. */
  readonly token?: string | undefined;
  /** Trust `X-Forwarded-Host`, `X-Forwarded-For` and `X-Forwarded-Prefix` of a proxy. Default false. */
  readonly trustProxy?: boolean;
}

/** What the guard needs to know of the wires besides the native protocol. */
export interface GuardedWire {
  owns(path: string): boolean;
  open?(path: string): boolean;
  readonly headers?: CrossOriginHeaders;
}

/** Requests with rules of their own. */
export interface PathRules {
  /** Whether a request needs no token. */
  readonly isPublic?: (c: Context<AppEnv>) => boolean;
  /** Whether a request is only for the pages of the server itself, also if other origins are allowed. */
  readonly isOwn?: (c: Context<AppEnv>) => boolean;
  /** Gets a line for each origin whose pages are refused. */
  readonly report?: ((line: string) => void) | undefined;
}

const NOTHING = (): boolean => false;

/** The guard of all routes, and its token check. */
export interface Guard {
  readonly handler: MiddlewareHandler<AppEnv>;
  readonly checkToken?: TokenCheck;
}

/**
 * Refuses requests that another site may have caused: from a browser that reached the server under a foreign
 * name (421), or from a page of another origin (403). Programs other than browsers send no origin and pass. Then
 * it checks the token, except for requests that are public. Throws `forbidden` or `invalid_request` for options that
 * are not safe or never match.
 */
export function createGuard(
  { allowedHosts = [], allowedOrigins = [], token, trustProxy = false }: GuardOptions,
  wires: readonly GuardedWire[],
  refuse: Refuse,
  { isPublic = NOTHING, isOwn = NOTHING, report }: PathRules = {},
): Guard {
  const hosts = createHostCheck(allowedHosts, token !== undefined);
  const origins = createOriginCheck(
    allowedOrigins,
    wires.flatMap(({ headers = {} }) => headers),
    isOwn,
    report,
  );
  const checkToken = token === undefined ? undefined : createTokenCheck(token, { trustProxy });

  /** Whether the path is one that its wire serves without a token. */
  function isOpen(c: Context<AppEnv>): boolean {
    if (wires.length === 0) return false;
    const path = pathIn(c);
    return wires.some((wire) => wire.owns(path) && wire.open?.(path) === true);
  }

  const handler: MiddlewareHandler<AppEnv> = async (c, next) => {
    const path = MONITORED.test(c.req.path) ? pathIn(c) : "";
    const forHealth = path === "/healthz" || path === "/readyz";
    const host = hostOf(c, trustProxy);
    // Monitoring reads each instance by its address. DNS rebinding needs a name.
    if (!forHealth) hosts.check(c, host, () => path === "/metrics" || isOpen(c));
    if (origins.check(c, host) === "preflight") return replyEmpty(c, origins.preflight);
    if (checkToken !== undefined && !forHealth && !isOpen(c) && !isPublic(c)) await checkToken(c);
    const expected = c.req.header("expect");
    if (expected !== undefined && !CONTINUE.test(expected)) {
      return refuse(c, unmet(expected), { own: EXPECTATION_FAILED });
    }
    return next();
  };
  return { handler, ...(checkToken && { checkToken }) };
}

/** The end of the paths with rules of their own. */
const MONITORED = /\/(?:healthz|readyz|metrics)$/;

const CONTINUE = /^100-continue$/i;

const EXPECTATION_FAILED = { status: 417, title: "Expectation Failed" };

function unmet(expected: string): AgentError {
  return new AgentError("invalid_request", `the server cannot meet the expectation ${quoted(expected)}`, {
    hint: "leave the Expect header away, or send 100-continue",
  });
}
