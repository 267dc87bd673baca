import type {
  AuthProvider,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { messageOf } from "../../errors.ts";
import type { ToolHost } from "../../runtime/agent/agent.ts";
import { SIGNED_IN_PATH, SIGN_IN_MS } from "../../runtime/agent/answer-link.ts";
import { SIGN_INS } from "../../runtime/secrets/stored-secrets.ts";
import { pause } from "../../shared/clock.ts";
import { KeyedMutex } from "../../shared/keyed-mutex.ts";
import { sha256 } from "../../shared/sha256.ts";
import type { McpOAuth } from "./server.ts";
import { loadPackage } from "./transport.ts";

/** A link is given again while it is younger; then a new one is made. */
const LINK_MS = SIGN_IN_MS / 2;

/** How long one node may renew tokens before another one tries it, and how often the others look. */
const RENEWAL_MS = 30_000;
const POLL_MS = 200;

/** An access token is renewed so long before it expires. */
const EARLY_MS = 30_000;

/**
 * The sign-ins of people at the authorization server of an MCP server, by owner. Tokens, the registration of the client and
 * what a sign-in needs until its end are in the secret store, so that any process can end it, and in no log.
 */
export class SignIns {
  /** Whether a page of this server ends a sign-in, so that the person gives no address. */
  readonly endsAtPage: boolean;
  readonly #url: string;
  readonly #oauth: McpOAuth;
  readonly #mutex = new KeyedMutex();
  /** The access tokens that were used last, by the names of the sign-ins. */
  readonly #used = new Map<string, string>();

  constructor(url: string, oauth: McpOAuth) {
    this.#url = url;
    this.#oauth = oauth;
    const { redirectUrl } = oauth;
    this.endsAtPage = URL.canParse(redirectUrl) && new URL(redirectUrl).pathname.endsWith(SIGNED_IN_PATH);
  }

  /** Whether an owner is signed in, as far as is known. */
  async has(host: ToolHost, owner: string): Promise<boolean> {
    return (await this.#read(host, await this.#nameOf(owner))).tokens !== undefined;
  }

  /** Drops the tokens of an owner, which the server does not accept. */
  drop(host: ToolHost, owner: string): Promise<void> {
    return this.#work(host, owner, async (kept) => {
      delete kept.tokens;
    });
  }

  /** The address at which the owner must consent; `undefined` if no consent is needed. */
  begin(host: ToolHost, owner: string): Promise<string | undefined> {
    return this.#work(host, owner, async (kept) => {
      if (kept.tokens !== undefined && !isOld(kept, host)) return undefined;
      const { pending } = kept;
      if (
        pending !== undefined &&
        kept.tokens === undefined &&
        host.environment.now() < pending.since + LINK_MS
      )
        return pending.url;
      const { auth } = await loadPackage();
      const result = await auth(this.#toProvider(kept, host, owner), { serverUrl: this.#url });
      return result === "AUTHORIZED" ? undefined : kept.pending?.url;
    });
  }

  /** Ends a sign-in with the address to which the browser was led. Returns what is wrong with it, if anything is. */
  end(host: ToolHost, owner: string, address: string): Promise<string | undefined> {
    return this.#work(host, owner, async (kept) => {
      // Another turn of the owner, or this one before a crash, has ended it.
      if (kept.tokens !== undefined) return undefined;
      const { pending } = kept;
      const given = URL.canParse(address.trim()) ? new URL(address.trim()).searchParams : undefined;
      if (given === undefined) return "That is no address.";
      if (pending === undefined || given.get("state") !== pending.state)
        return "That address belongs to another sign-in.";
      const provider = this.#toProvider(kept, host, owner);
      // It works once, and not for ever.
      delete kept.pending;
      if (host.environment.now() >= pending.since + SIGN_IN_MS) return "That sign-in has expired.";
      const code = given.get("code");
      if (code === null) return `The sign-in was refused (${given.get("error") ?? "no reason"}).`;
      try {
        const { auth } = await loadPackage();
        const iss = given.get("iss");
        await auth(provider, { serverUrl: this.#url, authorizationCode: code, ...(iss !== null && { iss }) });
        return undefined;
      } catch (thrown) {
        return `The sign-in failed: ${messageOf(thrown)}.`;
      }
    });
  }

  /** Gives the transport the token of an owner, and renews it. */
  toAuthProvider(host: ToolHost, owner: string): AuthProvider {
    return {
      token: () =>
        this.#work(host, owner, async (kept, name) => {
          if (kept.tokens?.refresh_token !== undefined && isOld(kept, host))
            await this.#renew(kept, host, { name, owner });
          const token = kept.tokens?.access_token;
          if (token !== undefined) this.#used.set(name, token);
          return token;
        }),
      onUnauthorized: () =>
        this.#work(host, owner, async (kept, name) => {
          // Another node may have renewed them since.
          if (kept.tokens?.access_token === this.#used.get(name))
            await this.#renew(kept, host, { name, owner });
        }),
    };
  }

  /**
   * Renews the tokens; without them, the owner must consent again. A refresh token often works once, so of all nodes one renews
   * and the others wait for what it gets.
   */
  async #renew(
    kept: KeptSignIn,
    host: ToolHost,
    { name, owner }: { readonly name: string; readonly owner: string },
  ): Promise<void> {
    const before = kept.tokens?.access_token;
    while (!(await this.#claim(kept, host, name))) {
      await pause(host.environment, POLL_MS);
      become(kept, await this.#read(host, name));
      if (kept.tokens?.access_token !== before) return;
    }
    try {
      const { auth } = await loadPackage();
      if (kept.tokens?.refresh_token === undefined) delete kept.tokens;
      else if ((await auth(this.#toProvider(kept, host, owner), { serverUrl: this.#url })) !== "AUTHORIZED")
        delete kept.tokens;
    } finally {
      delete kept.renewing;
    }
  }

  /** Notes that this node renews the tokens, unless another one does or has done so. */
  async #claim(kept: KeptSignIn, { environment, secrets }: ToolHost, name: string): Promise<boolean> {
    if (secrets.replace === undefined) return true;
    if (kept.renewing !== undefined && kept.renewing > environment.now()) return false;
    const before = kept.stored;
    kept.renewing = environment.now() + RENEWAL_MS;
    const claimed = toStored(kept);
    if (!(await secrets.replace(name, before, claimed))) return false;
    kept.stored = claimed;
    return true;
  }

  /** The work on what is kept of an owner, one after the other; what has changed is stored. */
  async #work<Result>(
    host: ToolHost,
    owner: string,
    work: (kept: KeptSignIn, name: string) => Promise<Result>,
  ): Promise<Result> {
    const name = await this.#nameOf(owner);
    return this.#mutex.run(name, async () => {
      const kept = await this.#read(host, name);
      try {
        return await work(kept, name);
      } finally {
        const after = toStored(kept);
        if (after !== (kept.stored ?? "{}")) await host.secrets.put({ [name]: after });
      }
    });
  }

  async #read({ secrets }: ToolHost, name: string): Promise<KeptSignIn> {
    const text = await secrets.get(name);
    return text === undefined ? {} : { ...(JSON.parse(text) as KeptSignIn), stored: text };
  }

  async #nameOf(owner: string): Promise<string> {
    return `${SIGN_INS}${await sha256(JSON.stringify([this.#url, owner]))}`;
  }

  #toProvider(kept: KeptSignIn, { environment, newSignIn }: ToolHost, owner: string): OAuthClientProvider {
    const { redirectUrl, clientId, clientSecret, scope } = this.#oauth;
    const now = environment.now();
    let verifier = kept.pending?.verifier ?? "";
    let state = kept.pending?.state ?? "";
    return {
      redirectUrl,
      clientMetadata: {
        client_name: "troupe",
        redirect_uris: [redirectUrl],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: clientSecret === undefined ? "none" : "client_secret_post",
        ...(scope !== undefined && { scope }),
      },
      async state() {
        state = await newSignIn(owner);
        return state;
      },
      clientInformation: () =>
        kept.client ??
        (clientId === undefined
          ? undefined
          : { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) }),
      saveClientInformation: (client) => void (kept.client = client),
      tokens: () => kept.tokens,
      saveTokens(tokens) {
        kept.tokens = tokens;
        if (tokens.expires_in === undefined) delete kept.expiresAt;
        else kept.expiresAt = now + tokens.expires_in * 1_000;
        delete kept.pending;
      },
      saveCodeVerifier: (given) => void (verifier = given),
      codeVerifier: () => verifier,
      redirectToAuthorization: (url) => void (kept.pending = { url: url.href, state, verifier, since: now }),
      saveDiscoveryState: (found) => void (kept.discovery = found),
      discoveryState: () => kept.discovery,
      invalidateCredentials(what) {
        if (what === "all" || what === "client") delete kept.client;
        if (what === "all" || what === "tokens") delete kept.tokens;
        if (what === "all" || what === "discovery") delete kept.discovery;
      },
    };
  }
}

/** What is kept of an owner at a server. */
interface KeptSignIn {
  client?: StoredOAuthClientInformation;
  tokens?: StoredOAuthTokens;
  /** When the access token expires, in milliseconds since 1970. */
  expiresAt?: number;
  discovery?: OAuthDiscoveryState;
  /** Until when a node renews the tokens; it may have died. */
  renewing?: number;
  /** What is stored now; not itself stored. */
  stored?: string;
  /** A sign-in that has begun. */
  pending?: {
    readonly url: string;
    readonly state: string;
    readonly verifier: string;
    readonly since: number;
  };
}

/** What is stored of a sign-in. */
function toStored(kept: KeptSignIn): string {
  return JSON.stringify({ ...kept, stored: undefined });
}

/** Gives a sign-in the fields of another reading of it. */
function become(kept: KeptSignIn, now: KeptSignIn): void {
  for (const field of Object.keys(kept) as (keyof KeptSignIn)[]) delete kept[field];
  Object.assign(kept, now);
}

function isOld({ expiresAt = Infinity }: KeptSignIn, { environment }: ToolHost): boolean {
  return environment.now() > expiresAt - EARLY_MS;
}
