import type { Context } from "hono";
import { timingSafeEqual } from "hono/utils/buffer";
import { AgentError } from "../../errors.ts";
import { LruMap } from "../../shared/lru-map.ts";
import { nodeOf } from "../messages/app-env.ts";
import type { AppEnv } from "../messages/app-env.ts";

/** Checks the token of a request, by default the one in its header. */
export type TokenCheck = (c: Context<AppEnv>, given?: string) => Promise<void>;

/**
 * Creates the token check. It throws `unauthorized` for a wrong token, and `overloaded` for further wrong
 * tokens of a peer that sent ten within a minute. The right token is always accepted. A token that no client
 * can send is refused here, with `invalid_request`.
 */
export function createTokenCheck(
  token: string,
  { trustProxy = false, now = () => performance.now() }: TokenCheckOptions = {},
): TokenCheck {
  checkSendable(token);
  const failures = new LruMap<string, Failures>(PEERS_LIMIT);

  return async (c, given = BEARER.exec(c.req.header("authorization") ?? "")?.[1]) => {
    if (given !== undefined && (await timingSafeEqual(given, token))) return;

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
    const fact = given === undefined ? "the request has no token" : "the token is wrong";
    throw new AgentError("unauthorized", fact, { hint: "send it as Authorization: Bearer TOKEN" });
  };
}

export interface TokenCheckOptions {
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
const BEARER = /^Bearer +([^\s,]+)$/i;

/** What fits behind `Bearer` in a header: ASCII that can be seen, without the comma that joins two headers. */
const SENDABLE = /^[\x21-\x2b\x2d-\x7e]{1,4096}$/;

function checkSendable(token: string): void {
  if (SENDABLE.test(token)) return;
  throw new AgentError("invalid_request", `the token cannot be sent in a header: ${faultOf(token)}`, {
    hint: "use 1 to 4096 ASCII letters, digits and signs, without spaces, commas and line ends",
  });
}

function faultOf(token: string): string {
  if (token === "") return "it is empty";
  if (/\s/.test(token)) return "it has a space or a line end";
  if (token.includes(",")) return "it has a comma";
  return token.length > 4_096 ? "it is too long" : "it has letters outside ASCII";
}

function peerOf(c: Context<AppEnv>, trustProxy: boolean): string {
  // Our own proxy added the last address; a client can forge those before it.
  const forwarded = trustProxy ? c.req.header("x-forwarded-for")?.split(",").at(-1)?.trim() : undefined;
  return forwarded ?? nodeOf(c)?.incoming.socket.remoteAddress ?? "";
}
