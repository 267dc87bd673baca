import { SignJWT, UnsecuredJWT, exportJWK, generateKeyPair } from "jose";
import type { JWTPayload } from "jose";
import { jwt } from "troupe/auth";
import type { Authenticate } from "troupe/auth";

const ISSUER = "https://id.example";
const AUDIENCE = "troupe";

const trusted = await generateKeyPair("ES256");
const foreign = await generateKeyPair("ES256");

/** Who the issuer of this server says a person is. */
const PEOPLE = {
  ann: { sub: "ann", tenant: "acme", roles: ["user"] },
  bob: { sub: "bob", tenant: "bolt", roles: ["user"] },
  ops: { sub: "ops", tenant: "default", roles: ["operator"] },
};

/** What claims to be Ann and is not, and nothing at all. */
const OUTSIDERS = ["nobody", "expired", "forged", "none", "issuer", "audience", "hmac", "garbage"] as const;

/** Someone who makes requests of a server that `authenticate` guards. */
export type Caller = keyof typeof PEOPLE | (typeof OUTSIDERS)[number];

export const outsiders: readonly Caller[] = OUTSIDERS;

/** Accepts the tokens of one issuer. */
export const authenticate: Authenticate = jwt({
  issuer: ISSUER,
  audience: AUDIENCE,
  jwks: { keys: [{ ...(await exportJWK(trusted.publicKey)), kid: "one", alg: "ES256", use: "sig" }] },
  owner: "tenant",
  roles: "roles",
});

/** The header with which someone makes requests. */
export function headersOf(caller: Caller): Readonly<Record<string, string>> {
  const token = TOKENS[caller];
  return token === "" ? {} : { authorization: `Bearer ${token}` };
}

const claimsOf = (person: JWTPayload, more: JWTPayload = {}): JWTPayload => ({
  iss: ISSUER,
  aud: AUDIENCE,
  exp: Math.floor(Date.now() / 1_000) + 86_400,
  ...person,
  ...more,
});

const sign = (claims: JWTPayload, key = trusted.privateKey): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "one" }).sign(key);

const TOKENS: Readonly<Record<Caller, string>> = {
  ann: await sign(claimsOf(PEOPLE.ann)),
  bob: await sign(claimsOf(PEOPLE.bob)),
  ops: await sign(claimsOf(PEOPLE.ops)),
  nobody: "",
  expired: await sign(claimsOf(PEOPLE.ann, { exp: Math.floor(Date.now() / 1_000) - 60 })),
  forged: await sign(claimsOf(PEOPLE.ann), foreign.privateKey),
  none: new UnsecuredJWT(claimsOf(PEOPLE.ann)).encode(),
  issuer: await sign(claimsOf(PEOPLE.ann, { iss: "https://other.example" }), foreign.privateKey),
  audience: await sign(claimsOf(PEOPLE.ann, { aud: "another-server" })),
  hmac: await new SignJWT(claimsOf(PEOPLE.ann))
    .setProtectedHeader({ alg: "HS256", kid: "one" })
    .sign(new TextEncoder().encode(JSON.stringify(await exportJWK(trusted.publicKey)))),
  garbage: "trp_0123456789abcdef_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
};
