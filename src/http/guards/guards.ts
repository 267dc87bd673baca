import type { Context, MiddlewareHandler } from "hono";
import { AgentError } from "../../errors.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { pathIn } from "../messages/mount.ts";
import { toProblem } from "../messages/problem.ts";
import { replyEmpty, replyProblem } from "../messages/reply.ts";
import { createHostCheck, hostOf } from "./hosts.ts";
import { createOriginCheck, PREFLIGHT } from "./origins.ts";
import { quoted } from "./quoted.ts";
import { createTokenCheck } from "./token.ts";

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

/**
 * Refuses requests that another site may have caused: from a browser that reached the server under a foreign
 * name (421), or from a page of another origin (403). Programs other than browsers send no origin and pass. Then
 * it checks the token. Throws `forbidden` or `invalid_request` for options that are not safe or never match.
 */
export function createGuard({
  allowedHosts = [],
  allowedOrigins = [],
  token,
  trustProxy = false,
}: GuardOptions): MiddlewareHandler<AppEnv> {
  const hosts = createHostCheck(allowedHosts, token !== undefined);
  const checkOrigin = createOriginCheck(allowedOrigins);
  const checkToken = token === undefined ? undefined : createTokenCheck(token, { trustProxy });

  return async (c, next) => {
    const path = OPEN.test(c.req.path) ? pathIn(c) : "";
    const forHealth = path === "/healthz" || path === "/readyz";
    const host = hostOf(c, trustProxy);
    // Monitoring reads each instance by its address. DNS rebinding needs a name.
    if (path === "/metrics") hosts.checkNameOrAddress(c, host);
    else if (!forHealth) hosts.check(c, host);
    if (checkOrigin(c, host) === "preflight") return replyEmpty(c, PREFLIGHT);
    if (checkToken !== undefined && !forHealth) await checkToken(c);
    const expected = c.req.header("expect");
    if (expected !== undefined && !CONTINUE.test(expected)) return refuseExpectation(c, expected);
    return next();
  };
}

/** The end of the paths with rules of their own. */
const OPEN = /\/(?:healthz|readyz|metrics)$/;

const CONTINUE = /^100-continue$/i;

function refuseExpectation(c: Context<AppEnv>, expected: string): Response {
  const error = new AgentError(
    "invalid_request",
    `the server cannot meet the expectation ${quoted(expected)}`,
    {
      hint: "leave the Expect header away, or send 100-continue",
    },
  );
  return replyProblem(c, toProblem(error, { status: 417, title: "Expectation Failed" }));
}
