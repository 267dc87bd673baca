import type * as OpenIdClient from "openid-client";
import { AgentError } from "../errors.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { SignInAttempt } from "./browser-sessions.ts";

/** How this server is a client of a provider. */
export interface SignInProviderOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly scope?: string;
}

/** The provider that people sign in at. What it publishes of itself is read once, its keys with every sign-in. */
export class SignInProvider {
  readonly #options: SignInProviderOptions;
  #library: Promise<typeof OpenIdClient> | undefined;
  #metadata: Promise<OpenIdClient.ServerMetadata> | undefined;

  constructor(options: SignInProviderOptions) {
    this.#options = options;
  }

  /** A new attempt to sign in. */
  async newAttempt(): Promise<SignInAttempt> {
    const library = await this.#load();
    return {
      state: library.randomState(),
      nonce: library.randomNonce(),
      verifier: library.randomPKCECodeVerifier(),
    };
  }

  /** Where the browser goes to sign in. */
  async toSignIn(redirectUri: string, { state, nonce, verifier }: SignInAttempt): Promise<URL> {
    const library = await this.#load();
    return library.buildAuthorizationUrl(await this.#configuration(), {
      redirect_uri: redirectUri,
      scope: this.#options.scope ?? "openid profile email",
      state,
      nonce,
      code_challenge: await library.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    });
  }

  /** Where the browser goes to sign out at the provider, too; `undefined` if it cannot. */
  async toSignOut(returnUri: string): Promise<string | undefined> {
    const configuration = await this.#configuration();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    const library = await this.#load();
    return library.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnUri }).href;
  }

  /** The claims of who has signed in; throws if the address that the browser came back to does not fit the attempt. */
  async claims(callback: URL, { state, nonce, verifier }: SignInAttempt): Promise<JsonObject> {
    const library = await this.#load();
    const tokens = await library.authorizationCodeGrant(await this.#configuration(), callback, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    return tokens.claims() as unknown as JsonObject;
  }

  /** A configuration of its own for each use: it keeps the keys of the provider, which may be rotated in between. */
  async #configuration(): Promise<OpenIdClient.Configuration> {
    const library = await this.#load();
    const { clientId, clientSecret } = this.#options;
    const metadata = await this.#discover(library);
    const methods = metadata.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    const how =
      clientSecret === undefined
        ? library.None()
        : methods.includes("client_secret_basic")
          ? library.ClientSecretBasic(clientSecret)
          : library.ClientSecretPost(clientSecret);
    const configuration = new library.Configuration(
      metadata,
      clientId,
      { [library.clockTolerance]: 30 },
      how,
    );
    // The signature of the ID token is checked, although it comes from the provider itself.
    library.enableNonRepudiationChecks(configuration);
    this.#allowLocal(library, configuration);
    return configuration;
  }

  #discover(library: typeof OpenIdClient): Promise<OpenIdClient.ServerMetadata> {
    const { issuer, clientId } = this.#options;
    const isLocal = new URL(issuer).protocol === "http:";
    this.#metadata ??= library
      .discovery(new URL(issuer), clientId, undefined, undefined, {
        timeout: 10,
        ...(isLocal && { execute: [library.allowInsecureRequests] }),
      })
      .then((configuration) => configuration.serverMetadata())
      .catch((cause: unknown) => {
        this.#metadata = undefined;
        throw new AgentError("unavailable", "the provider that people sign in at does not answer as one", {
          hint: `${issuer} must serve /.well-known/openid-configuration`,
          cause,
        });
      });
    return this.#metadata;
  }

  /** Options allow http only on this machine. */
  #allowLocal(library: typeof OpenIdClient, configuration: OpenIdClient.Configuration): void {
    if (new URL(this.#options.issuer).protocol === "http:") library.allowInsecureRequests(configuration);
  }

  #load(): Promise<typeof OpenIdClient> {
    this.#library ??= import("openid-client").catch((cause: unknown) => {
      this.#library = undefined;
      throw new AgentError(
        "unavailable",
        "people cannot sign in: the package openid-client cannot be loaded",
        {
          hint: "npm install openid-client",
          cause,
        },
      );
    });
    return this.#library;
  }
}
