import { anyOf, oidc, sharedToken } from "troupe/auth";
import type { Authenticate, Authenticator, OidcOptions } from "troupe/auth";
import { expect, test } from "vitest";
import { memorySecrets } from "../../src/storage/memory/secrets.ts";
import { submit, useBrowser } from "../console/harness/browser.ts";
import { startConsole } from "../console/harness/server.ts";
import { findFreePort } from "../machine/free-port.ts";
import { stopClocks } from "../machine/stopped-clocks.ts";
import { CookieJar, startProvider } from "./provider.ts";
import type { TestProvider } from "./provider.ts";
import { bearer, startServer } from "./server.ts";
import type { AuthServer } from "./server.ts";

const TOKEN = "an-admin-token-of-a-test";
const open = useBrowser();

interface Started extends AsyncDisposable {
  readonly server: AuthServer;
  readonly provider: TestProvider;
}

/** A server whose people sign in at a real provider. */
async function start(options: Partial<OidcOptions> = {}): Promise<Started> {
  const port = await findFreePort();
  const provider = await startProvider(`http://127.0.0.1:${port}`);
  const signIn = oidc({
    issuer: provider.url,
    clientId: "troupe",
    owner: "tenant",
    roles: "groups",
    ...options,
  });
  const server = await startServer(anyOf(sharedToken(TOKEN), signIn), { port });
  return {
    server,
    provider,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const sessionOf = (jar: CookieJar, url: string): [string, string] =>
  [...jar.of(url)].find(([name]) => name.endsWith("-session")) ?? ["", ""];

test("a person signs in, is who the provider says, and signs out", async () => {
  await using started = await start();
  const { url } = started.server;
  const jar = new CookieJar();
  expect((await jar.ask(`${url}/runs`)).status).toBe(401);
  const back = await jar.signInAt(url, "ann");
  const answer = await jar.ask(back);
  expect([answer.status, answer.headers.get("location")]).toEqual([303, `${url}/`]);
  const line = answer.headers.getSetCookie().find((cookie) => cookie.includes("-session="));
  expect(line).toMatch(/; Path=\/; Max-Age=3600; HttpOnly; SameSite=Lax$/);
  expect((await jar.ask(`${url}/runs`)).status).toBe(200);
  expect(await (await jar.ask(`${url}/auth/session`)).json()).toEqual({
    sign_in: "/auth/login",
    sign_out: "/auth/logout",
    principal: { id: "ann", name: "ANN", owner: "acme", roles: ["user"] },
  });
  const stolen = sessionOf(jar, url).join("=");
  const out = await jar.ask(`${url}/auth/logout`, { method: "POST", headers: { origin: url } });
  const { next } = (await out.json()) as { readonly next: string };
  expect(next).toContain(`${started.provider.url}/session/end`);
  expect((await jar.ask(`${url}/runs`)).status).toBe(401);
  // The cookie that someone has copied before does not work either.
  expect((await fetch(`${url}/runs`, { headers: { cookie: stolen } })).status).toBe(401);
});

test("the way back works once, and only in the browser that began", async () => {
  await using started = await start();
  const { url } = started.server;
  const jar = new CookieJar();
  const back = await jar.signInAt(url, "ann");
  const kept = new Map(jar.of(url));
  const status = async (address: string, headers: Record<string, string> = {}): Promise<number> =>
    (await fetch(address, { headers, redirect: "manual" })).status;
  const cookie = [...kept].map((pair) => pair.join("=")).join("; ");
  expect(kept.size).toBe(1);
  // Another browser, to which someone has sent the address.
  expect(await status(back)).toBe(400);
  expect(await status(back.replace(/state=./, "state=x"), { cookie })).toBe(400);
  expect(await status(`${url}/auth/callback`, { cookie })).toBe(400);
  expect(await status(`${url}/auth/callback?state=../../x`, { cookie })).toBe(400);
  const forged = new URL(back);
  forged.searchParams.set("code", "A".repeat(43));
  expect(await status(forged.href, { cookie })).toBe(400);
  const mixed = new URL(back);
  mixed.searchParams.set("iss", "https://evil.example");
  expect(await status(mixed.href, { cookie })).toBe(400);
  const tampered = cookie.replace(".eyJ", ".eyK");
  expect(await status(back, { cookie: tampered })).toBe(400);
  // The attempt of another tab does not fit this way back.
  const other = new CookieJar();
  await other.ask(`${url}/auth/login`);
  const [[name, value] = ["", ""]] = other.of(url);
  const [[wanted] = [""]] = kept;
  expect(name).not.toBe(wanted);
  expect(await status(back, { cookie: `${wanted}=${value}` })).toBe(400);

  expect((await jar.ask(back)).status).toBe(303);
  expect((await jar.ask(back)).status).toBe(400);
  // With a copy of everything that the browser had: the code is used up at the provider.
  expect(await status(back, { cookie })).toBe(400);
});

test("a session that is changed, signed for something else or of another server is nobody's", async () => {
  const secrets = memorySecrets();
  await using started = await start({ secrets });
  await using other = await start();
  const { url } = started.server;
  const jar = new CookieJar();
  await jar.ask(await jar.signInAt(url, "ann"));
  const [name, value] = sessionOf(jar, url);
  const [key = "", payload = "", mac = ""] = value.split(".");
  const fields = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
  const root = Buffer.from(
    JSON.stringify({ ...fields, principal: { id: "root", owner: "acme", roles: ["admin"] } }),
  ).toString("base64url");
  const attempts = new CookieJar();
  await attempts.ask(`${url}/auth/login`);
  const [[, attempt] = ["", ""]] = attempts.of(url);
  const theirs = new CookieJar();
  await theirs.ask(await theirs.signInAt(other.server.url, "root"));
  const [, foreign] = sessionOf(theirs, other.server.url);
  const wrong = [
    `${key}.${root}.${mac}`,
    `${key}.${payload}.${"A".repeat(43)}`,
    `${key}.${payload}.`,
    `${"0".repeat(12)}.${payload}.${mac}`,
    attempt,
    foreign,
    "x",
    "",
  ];
  for (const text of wrong) {
    const answer = await fetch(`${url}/runs`, { headers: { cookie: `${name}=${text}` } });
    expect([text, answer.status]).toEqual([text, 401]);
    // Wrong cookies count as wrong tokens do.
  }
  // A second cookie with the name was planted by someone.
  const two = await fetch(`${url}/runs`, { headers: { cookie: `${name}=${value}; ${name}=${value}` } });
  expect(two.status).toBe(401);
  expect((await jar.ask(`${url}/runs`)).status).toBe(200);
  await jar.ask(`${url}/auth/logout`, { method: "POST", headers: { origin: url } });
  expect((await secrets.names()).filter((entry) => entry.startsWith("auth/ended/"))).toHaveLength(1);
});

test("a session changes something only for a page of the server itself", async () => {
  await using started = await start();
  const { url } = started.server;
  const jar = new CookieJar();
  await jar.ask(await jar.signInAt(url, "ann"));
  const post = async (headers: Record<string, string>): Promise<number> => {
    const answer = await jar.ask(`${url}/echo/process`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ type: "ChatRequest", input: "hello" }),
    });
    await answer.body?.cancel();
    return answer.status;
  };
  expect(await post({ origin: url, "sec-fetch-site": "same-origin" })).toBe(202);
  expect(await post({ origin: url })).toBe(202);
  expect(await post({ origin: "https://evil.example", "sec-fetch-site": "cross-site" })).toBe(403);
  expect(await post({ origin: "null" })).toBe(403);
  expect(await post({ "sec-fetch-site": "same-site" })).toBe(403);
  // Another port of this machine is the same site, but not the same origin.
  expect(await post({ origin: "http://127.0.0.1:1", "sec-fetch-site": "same-site" })).toBe(403);
  // A browser always says where a request comes from; what says nothing has no use for a cookie.
  expect(await post({})).toBe(401);
  expect(await post({ ...bearer(TOKEN).headers })).toBe(202);
  const logout = await jar.ask(`${url}/auth/logout`, { method: "POST" });
  expect(logout.status).toBe(403);
});

test("a session ends in time, and its open streams with it", { tags: "long" }, async () => {
  const clocks = stopClocks();
  await using started = await start({ sessionMs: 4_000, roles: () => ["admin"] });
  const { url } = started.server;
  const jar = new CookieJar();
  const answer = await jar.ask(await jar.signInAt(url, "root"));
  expect(answer.headers.getSetCookie().join()).toContain("Max-Age=4;");
  const stream = await jar.ask(`${url}/runs?stream=true`);
  expect(stream.status).toBe(200);
  clocks.advance(4_000);
  await stream.text();
  expect((await jar.ask(`${url}/runs`)).status).toBe(401);
});

test("an account without an owner is not let in, and the page says why", async () => {
  await using started = await start();
  const { url } = started.server;
  const jar = new CookieJar();
  const answer = await jar.ask(await jar.signInAt(url, "stray"));
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain("Your account belongs to no owner of this server.");
  expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(sessionOf(jar, url)).toEqual(["", ""]);
});

test("keys of the provider are rotated between two sign-ins", async () => {
  await using started = await start();
  const { url } = started.server;
  const first = new CookieJar();
  expect((await first.ask(await first.signInAt(url, "ann"))).status).toBe(303);
  await started.provider.rotate();
  const second = new CookieJar();
  expect((await second.ask(await second.signInAt(url, "bob"))).status).toBe(303);
  expect((await second.ask(`${url}/runs`)).status).toBe(200);
});

test("a provider that is away is no wrong token", async () => {
  await using started = await start();
  await started.provider[Symbol.asyncDispose]();
  const answer = await started.server.ask("/auth/login", { redirect: "manual" });
  expect([answer.status, await answer.json()]).toMatchObject([503, { code: "unavailable" }]);
  expect((await started.server.ask("/runs", TOKEN)).status).toBe(200);
});

test.each([
  [{ issuer: "http://id.example" }, /the issuer must start with https/],
  [{ url: "http://agents.example.com" }, /the address of the server must start with https/],
])("unsafe options are refused: %o", (options, message) => {
  expect(() => oidc({ issuer: "https://id.example", clientId: "troupe", ...options })).toThrow(message);
});

test("with https the cookie is of this host alone", async () => {
  const check: Authenticator = oidc({
    issuer: "https://id.example",
    clientId: "x",
    url: "https://agents.example.com",
  });
  const answer = await check.answer?.(
    new Request("http://10.0.0.1/auth/logout", {
      method: "POST",
      headers: { origin: "https://agents.example.com" },
    }),
    { path: "/auth/logout", prefix: "", principal: undefined },
  );
  expect(answer?.headers.getSetCookie()).toEqual([
    "__Host-troupe-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure",
  ]);
});

test("the console offers to sign in, shows who has, and signs out", { tags: "long" }, async ({ skip }) => {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  await using provider = await startProvider(url);
  const signIn: Authenticate = oidc({
    issuer: provider.url,
    clientId: "troupe",
    owner: () => "default",
    roles: "groups",
  });
  await using server = await startConsole([], { authenticate: signIn, port });
  // The browser reports each refused request; the pages of the provider load a font.
  await using tab = await open(skip, server.url, {
    expected: /401|404|ERR_NAME_NOT_RESOLVED|Content Security Policy/,
    others: [provider.url, "https://fonts.googleapis.com", "https://fonts.gstatic.com"],
  });
  const { page } = tab;
  let refused = 0;
  page.on("response", (answer) => (refused += answer.status() === 401 ? 1 : 0));
  await page.getByRole("link", { name: "Sign in" }).click();
  await page.locator("input[name=login]").fill("root");
  await page.locator("input[name=password]").fill("any");
  await page.locator("[type=submit]").click();
  await page.locator("[type=submit]").click();
  await page.waitForURL(`${url}/`);
  await page.getByText("ROOT", { exact: true }).click();
  await page.getByText("Signed in as ROOT, for default").waitFor();

  // A request that changes something passes the check of where it comes from.
  await page.goto(`${url}/#/agents/echo`);
  await page.getByLabel("Message to echo").fill("hello");
  await submit(page.getByLabel("Message to echo"));
  await page.getByRole("log").getByText("done").waitFor();
  expect(await page.evaluate("document.cookie")).toBe("");

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(`${provider.url}/session/end**`);
  await page.goto(url);
  await page.getByRole("link", { name: "Sign in" }).waitFor();
  // Once for each page: more would soon be too many requests of this peer.
  expect(refused).toBeLessThan(3);
});
