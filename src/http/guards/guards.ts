import type { Context, MiddlewareHandler } from "hono";
import { AgentError } from "../../errors.ts";
import { ANONYMOUS, checkPrincipal } from "../../ports/principal.ts";
import type { Authenticate, Authenticator, Visit } from "../../ports/principal.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { createMount, hostOf, pathIn } from "../messages/mount.ts";
import type { Refuse } from "../messages/refusal.ts";
import { replyEmpty, withHeaders } from "../messages/reply.ts";
import { createHostCheck } from "./hosts.ts";
import { createOriginCheck } from "./origins.ts";
import type { CrossOriginHeaders } from "./origins.ts";
import { quoted } from "./quoted.ts";
import { addressOf, createAuthentication } from "./authentication.ts";
import type { Authentication } from "./authentication.ts";
import { sharedToken } from "./shared-token.ts";
import { OwnerTurns } from "./turns.ts";

/** Access rules of the server. */
export interface GuardOptions {
  /**
   * Host names of the server, with or without a port, besides the loopback names. `*` allows every name and
   * requires a token or `authenticate`.
   */
  readonly allowedHosts?: readonly string[];
  /** Origins, for example `https://app.example`, whose pages may use the server. Default: only its own. */
  readonly allowedOrigins?: readonly string[];
  /**
   * If given, every request except health checks must send it as `Authorization: Bearer`, and is one of an admin of the owner
   * `default`. Short for `authenticate: sharedToken(token)`.
   */
  readonly token?: string | undefined;
  /**
   * Finds out who makes a request. If given, every request except health checks must be one of somebody. Without it and
   * without a token, everyone is an admin of the owner `default`.
   */
  readonly authenticate?: Authenticate | undefined;
  /** Trust `X-Forwarded-Host`, `-Proto`, `-For` and `-Prefix` of a proxy. Default false. */
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
  /** Whether a request needs no principal. */
  readonly isPublic?: (c: Context<AppEnv>) => boolean;
  /** Whether a request is only for the pages of the server itself, also if other origins are allowed. */
  readonly isOwn?: (c: Context<AppEnv>) => boolean;
  /** Whether people may come to a path from pages of other sites, by a link. */
  readonly isVisited?: ((path: string) => boolean) | undefined;
  /** Gets a line for each origin whose pages are refused. */
  readonly report?: ((line: string) => void) | undefined;
  /** Adds to the audit trail what the check of who makes a request does at its own paths. */
  readonly note?: Visit["note"] | undefined;
}

const NOTHING = (): boolean => false;

/** The guard of all routes, and how it finds out who makes a request. */
export interface Guard {
  readonly handler: MiddlewareHandler<AppEnv>;
  /** Absent if everyone may use the server. */
  readonly authenticate?: Authentication;
}

/**
 * Refuses requests that another site may have caused: from a browser that reached the server under a foreign
 * name (421), or from a page of another origin (403). Programs other than browsers send no origin and pass. Then
 * it finds out who makes the request, except for those that are public. Throws `forbidden` or `invalid_request` for options that
 * are not safe or never match.
 */
export function createGuard(
  { allowedHosts = [], allowedOrigins = [], token, authenticate: given, trustProxy = false }: GuardOptions,
  wires: readonly GuardedWire[],
  refuse: Refuse,
  { isPublic = NOTHING, isOwn = NOTHING, isVisited = () => false, report, note }: PathRules = {},
): Guard {
  if (token !== undefined && given !== undefined) {
    throw new AgentError("invalid_request", "the server has both a token and authenticate", {
      hint: "leave the token away, and have authenticate accept it: sharedToken(token) is such a function",
    });
  }
  const authenticator: Authenticator | undefined = token === undefined ? given : sharedToken(token);
  // With one token there is one owner.
  const turns = given && new OwnerTurns();
  const mount = createMount(trustProxy);
  const authenticate = authenticator && createAuthentication(authenticator, { trustProxy });
  const hosts = createHostCheck(allowedHosts, authenticate !== undefined);
  const origins = createOriginCheck(
    allowedOrigins,
    wires.flatMap(({ headers = {} }) => headers),
    isOwn,
    report,
    (path) => isVisited(path) || authenticator?.isVisited?.(path) === true,
  );

  /** What the check of who makes a request answers itself, at its own paths. */
  async function answerOf(c: Context<AppEnv>): Promise<Response | undefined> {
    if (authenticator?.answer === undefined) return undefined;
    const path = pathIn(c);
    if (authenticator.roots?.includes(path.split("/")[1] ?? "") !== true) return undefined;
    const request = c.req.raw;
    const known = await authenticator(request, { address: addressOf(c) });
    const principal = known && checkPrincipal(known);
    // So that a refusal is one of somebody.
    if (principal !== undefined) c.set("principal", principal);
    const visit = { path, prefix: mount.prefixOf(c), principal, note };
    const response = await authenticator.answer(request, visit);
    return response && withHeaders(response);
  }

  /** Whether the path is one that its wire serves to everyone. */
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
    const answer = forHealth ? undefined : await answerOf(c);
    if (answer !== undefined) return answer;
    if (authenticate === undefined) c.set("principal", ANONYMOUS);
    else if (!forHealth && !isOpen(c) && !isPublic(c)) {
      const principal = await authenticate(c);
      c.set("principal", principal);
      const turn = turns?.begin(principal.owner);
      if (turn !== undefined) await turn;
    }
    const expected = c.req.header("expect");
    if (expected !== undefined && !CONTINUE.test(expected)) {
      return refuse(c, unmet(expected), { own: EXPECTATION_FAILED });
    }
    return next();
  };
  return { handler, ...(authenticate && { authenticate }) };
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
