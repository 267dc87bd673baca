import { AgentError } from "../errors.ts";
import { replyPage } from "../http/messages/html-page.ts";
import { toBy } from "../ports/principal.ts";
import type { Authenticated, Authenticator, Visit } from "../ports/principal.ts";
import type { SecretStore } from "../ports/secret-store.ts";
import type { JsonObject } from "../protocol/json.ts";
import { toIdentity } from "./identity.ts";
import type { IdentityOptions } from "./identity.ts";
import { checkIssuerAddress, isLocalHost } from "./issuer-address.ts";
import { SignInProvider } from "./sign-in-provider.ts";
import type { SignInProviderOptions } from "./sign-in-provider.ts";
import { BrowserSessions } from "./browser-sessions.ts";
import { replyJson } from "./web.ts";

/** A provider that people sign in at, and this server as its client. */
export interface OidcOptions extends IdentityOptions, SignInProviderOptions {
  /** The issuer, whose `/.well-known/openid-configuration` names the rest: https, or http on this machine. */
  readonly issuer: string;
  readonly clientId: string;
  /** The secret of the client, if the provider has given it one. */
  readonly clientSecret?: string;
  /** What the provider is asked for. Default `openid profile email`. */
  readonly scope?: string;
  /**
   * The address of this server as browsers have it, for example `https://agents.example.com`. The provider must allow its
   * `/auth/callback`. Default: the address that a browser on this machine uses; others cannot sign in without it.
   */
  readonly url?: string;
  /** How long a person stays signed in at most, in milliseconds. Default 12 hours. */
  readonly sessionMs?: number;
  /**
   * Where the keys of sessions are kept, usually with the log (`log.secrets()`). `troupe serve` gives its own. Default: in
   * memory, so that people sign in again after a restart, and each node knows only its own sessions.
   */
  readonly secrets?: SecretStore;
}

/**
 * Lets people sign in at a provider of OpenID Connect: the code flow with PKCE, then a session in a cookie that no page can
 * read. A request with a session that changes something must come from a page of the server itself. Needs the package
 * `openid-client`, which is loaded with the first sign-in.
 */
export function oidc(options: OidcOptions): Authenticator {
  const { issuer, url, sessionMs = 43_200_000, secrets } = options;
  checkIssuerAddress(issuer, "the issuer");
  if (url !== undefined) checkIssuerAddress(url, "the address of the server");
  const sessions = new BrowserSessions({ sessionMs, secrets });
  const provider = new SignInProvider(options);

  /** The address of the server as the browser has it. */
  function baseOf(request: Request, prefix: string): Base {
    if (url !== undefined) return { origin: new URL(url).origin, path: url.replace(/\/+$/, "") };
    const { origin, hostname } = new URL(request.url);
    if (!isLocalHost(hostname)) {
      throw new AgentError("unavailable", "people cannot sign in: the server does not know its own address", {
        hint: "give oidc the option url",
      });
    }
    return { origin, path: origin + prefix };
  }

  async function login(request: Request, { prefix }: Visit): Promise<Response> {
    const { origin, path } = baseOf(request, prefix);
    const attempt = await provider.newAttempt();
    const address = await provider.toSignIn(`${path}/auth/callback`, attempt);
    return redirect(address.href, [await sessions.startAttempt(origin, attempt)]);
  }

  async function callback(request: Request, { prefix, note }: Visit): Promise<Response> {
    const { origin, path } = baseOf(request, prefix);
    const { search, searchParams } = new URL(request.url);
    const attempt = await sessions.attemptOf(request, origin, searchParams.get("state") ?? "");
    if (attempt === undefined) {
      return failed("This sign-in was not begun in this browser, or more than ten minutes ago.", prefix);
    }
    const end = sessions.endAttempt(origin, attempt.state);
    let claims: JsonObject;
    try {
      claims = await provider.claims(new URL(`${path}/auth/callback${search}`), attempt);
    } catch (thrown) {
      if (thrown instanceof AgentError) throw thrown;
      // The reason can contain what a stranger has sent here.
      return failed("The provider did not confirm who you are.", prefix, end);
    }
    const principal = toIdentity(claims, options);
    if (principal === undefined)
      return failed("Your account belongs to no owner of this server.", prefix, end);
    await note?.({ action: "sign_in", by: toBy(principal), owner: principal.owner });
    return redirect(`${path}/`, [await sessions.start(origin, principal), end]);
  }

  async function session(request: Request, { prefix, principal }: Visit): Promise<Response> {
    const { origin } = baseOf(request, prefix);
    const renewed = await sessions.renew(request, origin);
    const { id, name, owner, roles } = principal ?? {};
    const answer = replyJson({
      sign_in: `${prefix}/auth/login`,
      ...(principal && { principal: { id, name, owner, roles } }),
      ...(renewed && { sign_out: `${prefix}/auth/logout` }),
    });
    if (renewed?.cookie !== undefined) answer.headers.append("set-cookie", renewed.cookie);
    return answer;
  }

  async function logout(request: Request, { prefix, principal, note }: Visit): Promise<Response> {
    const { origin, path } = baseOf(request, prefix);
    if (!isOwnPage(request, origin)) {
      throw new AgentError("forbidden", "only a page of the server itself may sign out");
    }
    if (principal !== undefined)
      await note?.({ action: "sign_out", by: toBy(principal), owner: principal.owner });
    const cookie = await sessions.end(request, origin);
    // The session here has ended, also if the provider does not answer.
    const next = await provider.toSignOut(`${path}/`).catch(() => undefined);
    const answer = replyJson({ next: next ?? `${path}/` });
    answer.headers.append("set-cookie", cookie);
    return answer;
  }

  async function authenticate(request: Request): Promise<Authenticated | undefined> {
    if (!request.headers.has("cookie")) return undefined;
    const origin = url === undefined ? new URL(request.url).origin : new URL(url).origin;
    if (!SAFE.has(request.method) && !isOwnPage(request, origin)) return undefined;
    return sessions.principalOf(request, origin);
  }

  const routes: Readonly<Record<string, Route>> = {
    "/auth/login": { method: "GET", answer: login },
    "/auth/callback": { method: "GET", answer: callback },
    "/auth/session": { method: "GET", answer: session },
    "/auth/logout": { method: "POST", answer: logout },
  };
  return Object.assign(authenticate, {
    roots: ["auth"],
    signIn: "auth/login",
    // The provider sends the browser back, and a link may lead to the sign-in.
    isVisited: (path: string) => path === "/auth/callback" || path === "/auth/login",
    keepIn: (store: SecretStore) => sessions.keepIn(store),
    async answer(request: Request, visit: Visit): Promise<Response | undefined> {
      const { path } = visit;
      const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
      if (route === undefined) return undefined;
      if (request.method === route.method) return route.answer(request, visit);
      throw new AgentError("method_not_allowed", `${path} takes ${route.method}, not ${request.method}`);
    },
  });
}

/** Where the server is for browsers. */
interface Base {
  readonly origin: string;
  /** With the path that the server is mounted at, without a slash at its end. */
  readonly path: string;
}

interface Route {
  readonly method: string;
  readonly answer: (request: Request, visit: Visit) => Promise<Response>;
}

const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Whether a request comes from a page of the server itself, as the browser says: cookies are also sent when another site
 * makes the request. A browser that says nothing gets no benefit of the doubt.
 */
function isOwnPage({ headers }: Request, origin: string): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return false;
  const from = headers.get("origin");
  return from === null ? site === "same-origin" : from === origin;
}

function redirect(location: string, cookies: readonly string[]): Response {
  const answer = new Response(null, { status: 303, headers: { location } });
  for (const cookie of cookies) answer.headers.append("set-cookie", cookie);
  return answer;
}

async function failed(why: string, prefix: string, cookie?: string): Promise<Response> {
  const answer = await replyPage({
    title: "You are not signed in",
    body: `<p>${why}</p><p><a href="${prefix}/auth/login">Sign in</a></p>`,
    status: 400,
  });
  if (cookie !== undefined) answer.headers.append("set-cookie", cookie);
  return answer;
}
