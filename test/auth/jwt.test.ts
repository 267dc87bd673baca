import { createHmac } from "node:crypto";
import { SignJWT, exportJWK, exportSPKI, generateKeyPair } from "jose";
import type { JWTPayload } from "jose";
import { anyOf, jwt, sharedToken } from "troupe/auth";
import type { Authenticate, JwtOptions } from "troupe/auth";
import { expect, test } from "vitest";
import { startAnswering, startServer } from "./server.ts";

const ISSUER = "https://id.example";
const AUDIENCE = "troupe";
const NOW_S = Math.floor(Date.now() / 1_000);

const trusted = await generateKeyPair("ES256", { extractable: true });
const rotated = await generateKeyPair("RS256", { extractable: true });
const foreign = await generateKeyPair("ES256", { extractable: true });
const jwkOf = async (pair: typeof trusted, kid: string, alg: string) => ({
  ...(await exportJWK(pair.publicKey)),
  kid,
  alg,
  use: "sig",
});
const first = await jwkOf(trusted, "one", "ES256");
const second = await jwkOf(rotated, "two", "RS256");

interface TokenParts {
  readonly claims?: JWTPayload;
  readonly pair?: typeof trusted;
  readonly header?: { readonly kid?: string; readonly alg?: string };
}

async function tokenOf({ claims = {}, pair = trusted, header = {} }: TokenParts = {}): Promise<string> {
  return new SignJWT({ iss: ISSUER, aud: AUDIENCE, sub: "ann", tenant: "acme", exp: NOW_S + 600, ...claims })
    .setProtectedHeader({ alg: "ES256", kid: "one", ...header })
    .sign(pair.privateKey);
}

function check(options: Partial<JwtOptions> = {}): Authenticate {
  return jwt({ issuer: ISSUER, audience: AUDIENCE, jwks: { keys: [first] }, owner: "tenant", ...options });
}

const principalOf = async (authenticate: Authenticate, token: string) =>
  authenticate(new Request("http://localhost/", { headers: { authorization: `Bearer ${token}` } }), {
    address: "127.0.0.1",
  });

test("a token of the issuer is its subject, with the owner and roles of its claims", async () => {
  const token = await tokenOf({
    claims: { name: "Ann", roles: ["finance", "user"], realm_access: { roles: ["operator"] } },
  });
  expect(await principalOf(check({ roles: "roles" }), token)).toMatchObject({
    id: "ann",
    owner: "acme",
    roles: ["finance", "user"],
    name: "Ann",
    expiresAt: (NOW_S + 630) * 1_000,
  });
  expect(await principalOf(check({ roles: "realm_access.roles" }), token)).toMatchObject({
    roles: ["operator"],
  });
  expect(await principalOf(check({ owner: ({ sub }) => `of-${sub as string}` }), token)).toMatchObject({
    owner: "of-ann",
    roles: ["user"],
  });
});

/** A token with a header and a signature that no library would make. */
function forge(header: object, signature: (input: string) => string): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iss: ISSUER, aud: AUDIENCE, sub: "ann", tenant: "acme", exp: NOW_S + 600 };
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${signature(input)}`;
}

const publicText = await exportSPKI(trusted.publicKey);
const hmac = (input: string): string => createHmac("sha256", publicText).update(input).digest("base64url");
const good = await tokenOf();
const flipped = `${good.slice(0, -10)}${good.at(-10) === "A" ? "B" : "A"}${good.slice(-9)}`;
const [header = "", , signature = ""] = good.split(".");
const otherClaims = Buffer.from(
  JSON.stringify({ iss: ISSUER, aud: AUDIENCE, sub: "root", exp: NOW_S + 600 }),
);

test.each([
  ["the algorithm none", forge({ alg: "none" }, () => "")],
  ["the algorithm None in another case", forge({ alg: "nOnE", kid: "one" }, () => "")],
  ["an HMAC with the public key as its secret", forge({ alg: "HS256", kid: "one" }, hmac)],
  ["an ES256 header over an HMAC", forge({ alg: "ES256", kid: "one" }, hmac)],
  ["a key in its own header", forge({ alg: "ES256", jwk: await exportJWK(foreign.publicKey) }, () => "AAAA")],
  ["a signature with one bit changed", flipped],
  ["other claims under the same signature", `${header}.${otherClaims.toString("base64url")}.${signature}`],
  ["the key of someone else", await tokenOf({ pair: foreign })],
  ["an unknown key", await tokenOf({ pair: foreign, header: { kid: "three" } })],
  ["another issuer", await tokenOf({ claims: { iss: "https://evil.example" } })],
  ["another audience", await tokenOf({ claims: { aud: "shop" } })],
  ["no audience", await tokenOf({ claims: { aud: undefined as unknown as string } })],
  ["an end that is past by more than the clock skew", await tokenOf({ claims: { exp: NOW_S - 31 } })],
  ["no end", await tokenOf({ claims: { exp: undefined as unknown as number } })],
  ["a begin that is later", await tokenOf({ claims: { nbf: NOW_S + 300 } })],
  ["no subject", await tokenOf({ claims: { sub: undefined as unknown as string } })],
  ["no owner", await tokenOf({ claims: { tenant: undefined } })],
  ["an owner that is no text", await tokenOf({ claims: { tenant: { $ne: "" } } })],
  ["the owner of shared actors", await tokenOf({ claims: { tenant: "shared" } })],
  ["an end that is no number", await tokenOf({ claims: { exp: "tomorrow" as unknown as number } })],
  ["three parts of nothing", "a.b.c"],
  ["only dots", ".."],
])("a token with %s is nobody's", async (_, token) => {
  expect(await principalOf(check(), token)).toBeUndefined();
});

test("clocks may differ by 30 s", async () => {
  const late = await tokenOf({ claims: { exp: NOW_S - 20 } });
  const early = await tokenOf({ claims: { nbf: NOW_S + 20 } });
  expect(await principalOf(check(), late)).toMatchObject({ id: "ann" });
  expect(await principalOf(check(), early)).toMatchObject({ id: "ann" });
  expect(await principalOf(check({ clockSkewS: 0 }), late)).toBeUndefined();
});

test.each([
  [{ algorithms: ["none"] }, /"none" is no algorithm/],
  [{ algorithms: ["ES256", "HS256"] }, /"HS256" is no algorithm/],
  [{ jwks: "http://id.example/jwks" }, /must start with https/],
  [{ jwks: "http://localhost.evil.example/jwks" }, /must start with https/],
  [{ jwks: "not an address" }, /must start with https/],
  [{ audience: "" }, /needs an issuer and an audience/],
])("unsafe options are refused at the start: %o", (options, message) => {
  expect(() => check(options)).toThrow(message);
});

test(
  "a server with tokens: keys are rotated while it runs, and keys that cannot be read are not a wrong token",
  { tags: "long" },
  async () => {
    const served = { keys: [first] };
    let status = 200;
    await using issuer = await startAnswering(() => ({ status, body: served }));
    const authenticate = anyOf(sharedToken("a-shared-token-of-16"), check({ jwks: `${issuer.url}/jwks` }));
    await using server = await startServer(authenticate);
    expect((await server.ask("/runs", await tokenOf())).status).toBe(200);
    const later = await tokenOf({ pair: rotated, header: { kid: "two", alg: "RS256" } });
    expect((await server.ask("/runs", later)).status).toBe(401);
    served.keys = [second];
    // Keys are not read more often than every 5 s, whatever tokens name.
    await expect.poll(async () => (await server.ask("/runs", later)).status, { interval: 1_000 }).toBe(200);
    expect(issuer.asked).toBeLessThan(5);
    expect((await server.ask("/runs", await tokenOf())).status).toBe(401);

    status = 500;
    await using other = await startServer(
      anyOf(sharedToken("a-shared-token-of-16"), check({ jwks: `${issuer.url}/jwks` })),
    );
    const refused = await other.ask("/runs", later);
    expect([refused.status, await refused.json()]).toMatchObject([503, { code: "unavailable" }]);
    // Another check still knows its own.
    expect((await other.ask("/runs", "a-shared-token-of-16")).status).toBe(200);
  },
);
