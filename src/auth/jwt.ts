import type { errors as joseErrors, JSONWebKeySet, JWTPayload, JWTVerifyGetKey } from "jose";
import { AgentError } from "../errors.ts";
import type { Authenticate, Principal } from "../ports/principal.ts";
import type { JsonObject } from "../protocol/json.ts";
import { bearerOf } from "../http/guards/bearer.ts";
import { toIdentity } from "./identity.ts";
import type { IdentityOptions } from "./identity.ts";
import { checkIssuerAddress } from "./issuer-address.ts";

/** Whose tokens are accepted, and what their claims mean. */
export interface JwtOptions extends IdentityOptions {
  /** The claim `iss` of the tokens. */
  readonly issuer: string;
  /** A value that the claim `aud` of a token must have: the name of this server. */
  readonly audience: string;
  /** The public keys of the issuer: where they are (https, or http on this machine), or the key set itself. */
  readonly jwks: string | { readonly keys: readonly JsonObject[] };
  /**
   * The signature algorithms that are accepted. Default: the asymmetric ones of RFC 7518 and 8037 with SHA-2 (RS, PS, ES,
   * EdDSA). `none` and those with a shared secret (HS) are refused as options, too.
   */
  readonly algorithms?: readonly string[];
  /** How far the clocks of the issuer and of this server may differ, in seconds. Default 30. */
  readonly clockSkewS?: number;
}

/**
 * Accepts JSON Web Tokens that are sent as bearer tokens: their signature, issuer, audience, `exp` (required) and `nbf` are
 * checked. Keys are read from the issuer when a token names a key that is not known, at most every 5 s, and at the latest
 * after ten minutes, so keys can be rotated. Needs the package `jose`, which is loaded with the first token.
 */
export function jwt(options: JwtOptions): Authenticate {
  const { issuer, audience, algorithms = ALGORITHMS, clockSkewS = 30 } = options;
  if (issuer === "" || audience === "") {
    throw new AgentError("invalid_request", "jwt needs an issuer and an audience that are not empty");
  }
  for (const algorithm of algorithms) checkAlgorithm(algorithm);
  if (typeof options.jwks === "string") checkIssuerAddress(options.jwks, "the address of the JWKS");
  let verifying: Promise<Verify> | undefined;

  return async ({ headers }) => {
    const token = bearerOf(headers);
    if (token === undefined || !COMPACT.test(token)) return undefined;
    verifying ??= loadVerify(options.jwks);
    // A package that is missing may be installed, and the process started again; the failure is not kept.
    const verify = await verifying.catch((thrown: unknown) => {
      verifying = undefined;
      throw thrown;
    });
    const claims = await verify(token, {
      issuer,
      audience,
      algorithms: [...algorithms],
      clockTolerance: clockSkewS,
      requiredClaims: ["exp", "sub"],
    });
    return claims && toPrincipal(claims, options, clockSkewS);
  };
}

/** The claims of a token; `undefined` for one that is not valid. */
type Verify = (
  token: string,
  checks: {
    readonly issuer: string;
    readonly audience: string;
    readonly algorithms: string[];
    readonly clockTolerance: number;
    readonly requiredClaims: string[];
  },
) => Promise<JWTPayload | undefined>;

async function loadVerify(jwks: JwtOptions["jwks"]): Promise<Verify> {
  const jose = await import("jose").catch((cause: unknown) => {
    throw new AgentError("unavailable", "tokens cannot be checked: the package jose cannot be loaded", {
      hint: "npm install jose",
      cause,
    });
  });
  const keys: JWTVerifyGetKey =
    typeof jwks === "string"
      ? jose.createRemoteJWKSet(new URL(jwks), { cooldownDuration: COOLDOWN_MS })
      : jose.createLocalJWKSet(jwks as unknown as JSONWebKeySet);
  return async (token, checks) => {
    try {
      return (await jose.jwtVerify(token, keys, checks)).payload;
    } catch (thrown) {
      if (!isAboutToken(thrown, jose.errors)) {
        throw new AgentError("unavailable", "the keys of the issuer of tokens cannot be read", {
          hint: "ask again in some seconds",
          cause: thrown,
        });
      }
      return undefined;
    }
  };
}

type JoseErrors = typeof joseErrors;

/**
 * Whether an error says that the token is not valid. Every other error says that the key set could not be read: a network
 * that does not work, a status other than 200, or a body that is no key set.
 */
function isAboutToken(thrown: unknown, errors: JoseErrors): boolean {
  if (!(thrown instanceof errors.JOSEError)) return false;
  const { JWKSInvalid, JWKSTimeout } = errors;
  // The plain class is used only for an answer that is no 200 or no JSON.
  return (
    thrown.code !== "ERR_JOSE_GENERIC" && !(thrown instanceof JWKSInvalid) && !(thrown instanceof JWKSTimeout)
  );
}

function toPrincipal(
  claims: JWTPayload,
  options: JwtOptions,
  clockSkewS: number,
): (Principal & { readonly expiresAt: number }) | undefined {
  const { exp = 0 } = claims;
  const identity = toIdentity(claims as JsonObject, options);
  return identity && { ...identity, expiresAt: (exp + clockSkewS) * 1_000 };
}

/** How long the keys are not read again after they were, also if a token names an unknown one. */
const COOLDOWN_MS = 5_000;

const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

function checkAlgorithm(algorithm: string): void {
  if (ALGORITHMS.includes(algorithm)) return;
  throw new AgentError(
    "invalid_request",
    `${JSON.stringify(algorithm)} is no algorithm for tokens of others`,
    {
      hint: `the algorithms are ${ALGORITHMS.join(", ")}`,
    },
  );
}

/** Three parts of base64url. An API key and a plain token look different, and need no package to be told apart. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]*$/;
