import type { Context } from "hono";
import { AgentError } from "../../errors.ts";
import { checkPrincipal } from "../../ports/principal.ts";
import type { Authenticate, Principal } from "../../ports/principal.ts";
import { LruMap } from "../../shared/lru-map.ts";
import { nodeOf } from "../messages/app-env.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { bearerOf } from "./bearer.ts";

/** Finds out who makes a request, by default by its headers, otherwise as if it had sent a token. */
export type Authentication = (c: Context<AppEnv>, token?: string) => Promise<Principal>;

/**
 * Creates the check of who makes a request. It throws `unauthorized` for a request without a principal, and `overloaded` for further
 * ones of a peer that sent ten within a minute. A request with a principal is always accepted.
 */
export function createAuthentication(
  authenticate: Authenticate,
  { trustProxy = false, now = () => performance.now() }: AuthenticationOptions = {},
): Authentication {
  const failures = new LruMap<string, Failures>(PEERS_LIMIT);

  return async (c, token) => {
    const request = token === undefined ? c.req.raw : withToken(c, token);
    const principal = request && (await authenticate(request, { address: addressOf(c) }));
    if (principal) {
      if (principal.expiresAt !== undefined || principal.isValid !== undefined) c.set("access", principal);
      return checkPrincipal(principal);
    }

    const peer = peerOf(c, trustProxy);
    const failed = failures.get(peer);
    const isRecent = failed !== undefined && now() < failed.until;
    if (isRecent && failed.count >= FAILURES_LIMIT) {
      throw new AgentError("overloaded", "too many requests with a wrong token", {
        retryAfterS: (failed.until - now()) / 1_000,
      });
    }
    if (isRecent) failed.count += 1;
    else failures.set(peer, { count: 1, until: now() + WINDOW_MS });
    const hasToken = token !== undefined || bearerOf(c.req.raw.headers) !== undefined;
    const fact = hasToken ? "the token is wrong" : "the request has no token";
    throw new AgentError("unauthorized", fact, { hint: "send it as Authorization: Bearer TOKEN" });
  };
}

export interface AuthenticationOptions {
  readonly trustProxy?: boolean;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

interface Failures {
  count: number;
  readonly until: number;
}

const FAILURES_LIMIT = 10;
const WINDOW_MS = 60_000;
const PEERS_LIMIT = 10_000;

/** The request as one that sends a token; `undefined` if no header can have it. */
function withToken(c: Context<AppEnv>, token: string): Request | undefined {
  try {
    return new Request(c.req.url, { headers: { authorization: `Bearer ${token}` } });
  } catch {
    return undefined;
  }
}

/** The address of the other end of the connection of a request. */
export function addressOf(c: Context<AppEnv>): string {
  return nodeOf(c)?.incoming.socket.remoteAddress ?? "";
}

function peerOf(c: Context<AppEnv>, trustProxy: boolean): string {
  // Our own proxy added the last address; a client can forge those before it.
  const forwarded = trustProxy ? c.req.header("x-forwarded-for")?.split(",").at(-1)?.trim() : undefined;
  return forwarded ?? addressOf(c);
}
