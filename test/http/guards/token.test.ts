import { Hono } from "hono";
import { expect, test } from "vitest";
import type { AppEnv } from "../../../src/http/messages/app-env.ts";
import { toProblem } from "../../../src/http/messages/problem.ts";
import { createAuthentication } from "../../../src/http/guards/authentication.ts";
import { sharedToken } from "../../../src/http/guards/shared-token.ts";
import { bodyOf, startApp } from "../server.ts";

const TOKEN = "correct-horse-battery-staple";
const bearer = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } });

test("with a token every route except health checks requires it", async () => {
  await using server = await startApp({ token: TOKEN });
  for (const path of ["/", "/echo/describe", "/runs", "/metrics", "/nothing"]) {
    const answer = await server.app.request(path);
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    expect(await bodyOf(answer)).toMatchObject({ code: "unauthorized" });
  }
  expect((await server.app.request("/healthz")).status).toBe(200);
  expect((await server.app.request("/readyz")).status).toBe(200);
  expect((await server.app.request("/", bearer(TOKEN))).status).toBe(200);
});

test.each([
  ["a wrong one", { authorization: "Bearer wrong" }],
  ["the beginning of it", { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
  ["it and more", { authorization: `Bearer ${TOKEN}x` }],
  ["it in another case", { authorization: `Bearer ${TOKEN.toUpperCase()}` }],
  ["it under another scheme", { authorization: `Basic ${TOKEN}` }],
  ["it twice", { authorization: `Bearer ${TOKEN}, Bearer ${TOKEN}` }],
])("%s is not the token", async (_, headers) => {
  await using server = await startApp({ token: TOKEN });
  expect((await server.app.request("/", { headers })).status).toBe(401);
});

test.each([
  ["it has a space or a line end", "a b"],
  ["it has a space or a line end", "secret\n"],
  ["it is empty", ""],
  ["it has a comma", "a,b"],
  ["it has letters outside ASCII", "schlüssel"],
  ["it is too long", "x".repeat(5_000)],
])("a token that cannot be sent, because %s, is refused at the start", async (why, token) => {
  await expect(startApp({ token })).rejects.toMatchObject({
    code: "invalid_request",
    message: `the token cannot be sent in a header: ${why}`,
  });
});

test("a token in the query is ignored", async () => {
  await using server = await startApp({ token: TOKEN });
  expect((await server.app.request(`/?token=${TOKEN}&access_token=${TOKEN}`)).status).toBe(401);
});

test("after ten wrong tokens within a minute a peer must wait; other peers need not", async () => {
  let now = 0;
  const check = createAuthentication(sharedToken(TOKEN), { trustProxy: true, now: () => now });
  const app = new Hono<AppEnv>();
  app.get("/", async (c) => {
    await check(c);
    return c.text("in");
  });
  app.onError((thrown) => {
    const { status, headers, body } = toProblem(thrown);
    return new Response(body, { status, headers });
  });
  const ask = async (token: string, peer: string): Promise<Response> =>
    app.request("/", {
      headers: { authorization: `Bearer ${token}`, "x-forwarded-for": `1.1.1.1, ${peer}` },
    });

  for (let time = 0; time < 10; time += 1) expect((await ask("wrong", "2.2.2.2")).status).toBe(401);
  now = 20_000;
  const refused = await ask("wrong", "2.2.2.2");
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("40");
  expect((await ask("wrong", "3.3.3.3")).status).toBe(401);
  now = 60_000;
  expect((await ask("wrong", "2.2.2.2")).status).toBe(401);
});

test("the right token is accepted after any number of wrong ones", async () => {
  await using server = await startApp({ token: TOKEN });
  for (let time = 0; time < 11; time += 1) await server.app.request("/", bearer("wrong"));
  expect((await server.app.request("/", bearer("wrong"))).status).toBe(429);
  expect((await server.app.request("/", bearer(TOKEN))).status).toBe(200);
});
