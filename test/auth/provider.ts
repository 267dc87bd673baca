import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { exportJWK, generateKeyPair } from "jose";
import { Provider } from "oidc-provider";

/** A provider of OpenID Connect with a real socket, where everyone can sign in with any name and password. */
export interface TestProvider extends AsyncDisposable {
  readonly url: string;
  /** Replaces its signing keys, as a provider does from time to time. */
  rotate(): Promise<void>;
}

/** Starts a provider with one public client. `url` is the address of the server under test. */
export async function startProvider(url: string): Promise<TestProvider> {
  let answer: RequestListener = () => undefined;
  const server = createServer((request, response) => answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function rotate(): Promise<void> {
    const { privateKey } = await generateKeyPair("RS256", { extractable: true });
    const key = { ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), alg: "RS256", use: "sig" };
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: "troupe",
          redirect_uris: [`${url}/auth/callback`],
          post_logout_redirect_uris: [`${url}/`],
          token_endpoint_auth_method: "none",
        },
      ],
      jwks: { keys: [key] },
      cookies: { keys: ["of this test"] },
      conformIdTokenClaims: false,
      claims: { openid: ["sub"], profile: ["name", "tenant", "groups"] },
      pkce: { required: () => true },
      findAccount: (_: unknown, id: string) => ({
        accountId: id,
        claims: () => ({
          sub: id,
          name: id.toUpperCase(),
          tenant: id === "stray" ? "two words" : "acme",
          groups: id === "root" ? ["admin"] : ["user"],
        }),
      }),
    });
    answer = provider.callback();
  }

  await rotate();
  return {
    url: issuer,
    rotate,
    async [Symbol.asyncDispose]() {
      if (!server.listening) return;
      server.closeAllConnections();
      await promisify(server.close.bind(server))();
    },
  };
}

/** A browser without scripts: it keeps cookies of each origin and follows redirects. */
export class CookieJar {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** The cookies of an origin, by name. */
  of(url: string): Map<string, string> {
    const { host } = new URL(url);
    const cookies = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, cookies);
    return cookies;
  }

  /** Asks once, without following a redirect. */
  async ask(url: string, init: RequestInit = {}): Promise<Response> {
    const cookies = this.of(url);
    const headers = new Headers(init.headers);
    if (cookies.size > 0) headers.set("cookie", [...cookies].map((pair) => pair.join("=")).join("; "));
    const answer = await fetch(url, { ...init, headers, redirect: "manual" });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "" || /max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return answer;
  }

  /** Signs in at the provider with a name; returns the address that the provider sends the browser back to. */
  async signInAt(server: string, name: string): Promise<string> {
    let url = `${server}/auth/login`;
    let init: RequestInit = {};
    for (let step = 0; step < 20; step += 1) {
      const answer = await this.ask(url, init);
      const location = answer.headers.get("location");
      init = {};
      if (location !== null) {
        await answer.body?.cancel();
        url = new URL(location, url).href;
        if (url.startsWith(`${server}/auth/callback`)) return url;
        continue;
      }
      const text = await answer.text();
      const action = /<form[^>]*action="([^"]+)"/.exec(text)?.[1];
      const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1];
      if (action === undefined || prompt === undefined) throw new Error(`no form at ${url}: ${text}`);
      url = new URL(action, url).href;
      init = { method: "POST", body: new URLSearchParams({ prompt, login: name, password: "any" }) };
    }
    throw new Error("the provider does not send the browser back");
  }
}
