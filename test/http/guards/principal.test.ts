import { Hono } from "hono";
import type { Principal } from "troupe";
import type { AppEnv } from "troupe/http";
import { expect, test } from "vitest";
import { createGuard } from "../../../src/http/guards/guards.ts";
import type { GuardOptions } from "../../../src/http/guards/guards.ts";
import { toProblem } from "../../../src/http/messages/problem.ts";
import { bodyOf, startApp } from "../server.ts";

/** An app that answers with the principal of the request. */
function appOf(options: GuardOptions): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.use(createGuard(options, [], (_, error) => new Response(String(error))).handler);
  app.get("/", (c) => c.json(c.get("principal") ?? null));
  app.onError((thrown) => new Response(toProblem(thrown).body, { status: toProblem(thrown).status }));
  return app;
}

const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"], name: "Ann", claims: { level: 2 } };

test("without a token everyone is an admin of the owner default", async () => {
  const answer = await appOf({}).request("http://localhost/");
  expect(await answer.json()).toEqual({ id: "anonymous", owner: "default", roles: ["admin"] });
});

test("whoever sends the shared token is an admin of the owner default", async () => {
  const answer = await appOf({ token: "secret" }).request("http://localhost/", {
    headers: { authorization: "Bearer secret" },
  });
  expect(await answer.json()).toEqual({ id: "token", owner: "default", roles: ["admin"] });
});

test("authenticate finds out who makes a request; one of nobody is refused, on every route but health checks", async () => {
  const authenticate = ({ headers }: Request): Principal | undefined =>
    headers.get("x-user") === "ann" ? ANN : undefined;
  const app = appOf({ authenticate });
  const answer = await app.request("http://localhost/", { headers: { "x-user": "ann" } });
  expect(await answer.json()).toEqual(ANN);

  await using server = await startApp({ authenticate });
  for (const path of ["/", "/echo/describe", "/runs", "/metrics", "/nothing"]) {
    const refused = await server.app.request(path, { headers: { "x-user": "bob" } });
    expect(refused.status).toBe(401);
    expect(await bodyOf(refused)).toMatchObject({ code: "unauthorized", detail: "the request has no token" });
  }
  expect((await server.app.request("/healthz")).status).toBe(200);
});

test("a principal is a copy, which its maker cannot change later", async () => {
  const principal = { ...ANN, roles: ["user"] };
  const seen: Principal[] = [];
  const app = new Hono<AppEnv>();
  const { handler } = createGuard(
    { authenticate: () => principal },
    [],
    (_, error) => new Response(String(error)),
  );
  app.use(handler);
  app.get("/", (c) => {
    seen.push(c.get("principal") as Principal);
    return c.text("in");
  });
  await app.request("http://localhost/");
  principal.roles.push("admin");
  expect(seen).toEqual([ANN]);
});

test.each([
  ["no id", { ...ANN, id: "" }],
  ["a line end in its id", { ...ANN, id: "a\nb" }],
  ["an owner that is too long", { ...ANN, owner: "x".repeat(129) }],
  ["an owner with a space", { ...ANN, owner: "a b" }],
  ["an empty owner", { ...ANN, owner: "" }],
  ["the owner of shared actors", { ...ANN, owner: "shared" }],
  ["no roles", { ...ANN, roles: undefined }],
  ["a role that is not a text", { ...ANN, roles: [1] }],
  ["an escape sequence in its name", { ...ANN, name: "\u001B[31m" }],
])("a principal with %s lets nobody in", async (_, given) => {
  const app = appOf({ authenticate: () => given as unknown as Principal });
  const answer = await app.request("http://localhost/");
  expect(answer.status).toBe(500);
  expect(await bodyOf(answer)).toMatchObject({ detail: "the server cannot tell who makes the request" });
});

test("what authenticate throws is the answer: an error of ours as it is, any other as an internal one", async () => {
  const { AgentError } = await import("troupe");
  const expired = appOf({
    authenticate: () => {
      throw new AgentError("unauthorized", "the token has expired");
    },
  });
  expect(await bodyOf(await expired.request("http://localhost/"))).toMatchObject({
    status: 401,
    detail: "the token has expired",
  });
  const broken = appOf({
    authenticate: () => {
      throw new Error("secret detail");
    },
  });
  const text = await (await broken.request("http://localhost/")).text();
  expect(text).not.toContain("secret detail");
});

test("a token and authenticate together are refused at the start", async () => {
  await expect(startApp({ token: "secret", authenticate: () => ANN })).rejects.toMatchObject({
    code: "invalid_request",
    message: "the server has both a token and authenticate",
  });
});

test("with authenticate every host name can be allowed", async () => {
  const app = appOf({ allowedHosts: ["*"], authenticate: () => ANN });
  const answer = await app.request("http://anything.test/", { headers: { host: "anything.test" } });
  expect(answer.status).toBe(200);
});

test("a copy of the open turns is for admins alone", async () => {
  const authenticate = ({ headers }: Request): Principal => ({
    ...ANN,
    roles: [headers.get("x-role") ?? ""],
  });
  await using server = await startApp({ authenticate });
  const ask = (role: string): Promise<Response> =>
    Promise.resolve(server.app.request("/inspect/open-turns", { headers: { "x-role": role } }));
  for (const role of ["user", "operator"]) expect((await ask(role)).status).toBe(403);
  const copy = await ask("admin");
  expect(copy.status).toBe(200);
  expect(await copy.text()).toBe('{"type":"end"}\n');
});

test("an owner that sends 1,000 requests at once has few begin before the next one of another owner", async () => {
  const begun: string[] = [];
  const app = new Hono<AppEnv>();
  const authenticate = ({ headers }: Request): Principal => ({
    ...ANN,
    owner: headers.get("x-owner") ?? "acme",
  });
  app.use(createGuard({ authenticate }, [], (_, error) => new Response(String(error))).handler);
  app.get("/", (c) => {
    begun.push(c.get("principal")?.owner ?? "");
    return c.text("hello");
  });
  const ask = async (owner: string): Promise<Response> =>
    app.request("http://localhost/", { headers: { "x-owner": owner } });
  const all = Array.from({ length: 1_000 }, () => ask("acme"));
  await ask("bolt");
  expect(begun.length).toBeLessThan(40);
  await ask("bolt");
  expect(begun.filter((owner) => owner === "acme").length).toBeLessThan(80);
  await Promise.all(all);
  expect(begun).toHaveLength(1_002);
});
