import { AgentError } from "troupe";
import { createMetrics, readJson, reply } from "troupe/http";
import type { Adapter } from "troupe/http";
import { expect, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { post, startApp } from "./server.ts";

/** A wire with paths of its own, at the root and below each agent, and a path that is also a native one. */
const wire: Adapter = {
  name: "shout",
  roots: ["shout"],
  owns: (path) => /^(\/[\w-]+)?\/shout(\/|$)/.test(path),
  open: (path) => path.endsWith("/shout/health"),
  headers: { request: ["x-shout"], response: ["X-Volume"] },
  toRefusal: ({ code, message }) => ({
    body: JSON.stringify({ OH: message }),
    type: "application/x-shout",
    ...(code === "conflict" && { status: 499 }),
  }),
  addRoutes(app, { bodyLimitBytes, authenticate }, { path }) {
    app.get(`${path}/shout/health`, (c) => reply(c, '{"LOUD":true}'));
    app.post(`${path}/shout/health`, async (c) => {
      const { password } = (await readJson(c, bodyLimitBytes)) as { readonly password: string };
      await authenticate?.(c, password);
      return reply(c, '{"LOUD":true}');
    });
    app.get(`${path}/shout/:what`, (c) => {
      switch (c.req.param("what")) {
        case "fault":
          throw new Error("/home/ada/secret");
        case "call":
          throw new AgentError("call_failed", "/home/ada/secret");
        case "conflict":
          throw new AgentError("conflict", "busy");
        default:
          return reply(c, JSON.stringify({ SAID: c.req.param("what") }));
      }
    });
    app.post(`${path}/process`, async (c, next) => {
      const body = await readJson(c, bodyLimitBytes);
      if (!Array.isArray(body)) return next();
      c.set("wire", "shout");
      if (body.length === 0) throw new AgentError("unprocessable", "nothing to shout");
      return reply(c, JSON.stringify({ SHOUTED: body }));
    });
  },
};

test("an adapter serves the root and each agent, beside the native routes", async () => {
  await using server = await startApp({ adapters: [wire] });
  for (const path of ["", "/echo", "/payments"]) {
    expect(await (await server.app.request(`${path}/shout/hello`)).json()).toEqual({ SAID: "hello" });
    expect((await server.app.request(`${path}/describe`)).status).toBe(200);
  }
});

test.each([
  ["an unknown route", "GET", "/shout/a/b/c", {}, 404],
  ["an unknown route below an agent", "GET", "/echo/shout/a/b", {}, 404],
  ["an unknown agent", "GET", "/nobody/shout/hello", {}, 404],
  ["a wrong method", "DELETE", "/shout/hello", {}, 405],
  ["a foreign host", "GET", "/shout/hello", { host: "evil.test" }, 421],
  ["a page of another origin", "GET", "/shout/hello", { origin: "https://evil.test" }, 403],
  ["a wrong token", "GET", "/shout/hello", { authorization: "Bearer wrong" }, 401],
  ["an expectation", "GET", "/shout/hello", { expect: "tea" }, 417],
  ["an error with a status of the wire", "GET", "/shout/conflict", {}, 499],
  ["a body of another media type", "POST", "/shout/health", { "content-type": "text/plain" }, 415],
])("%s is refused in the words of the wire", async (_, method, path, headers, status) => {
  await using server = await startApp({ adapters: [wire], token: "secret" });
  const all = { authorization: "Bearer secret", ...headers };
  const answer = await server.app.request(path, { method, headers: all });
  expect(answer.status).toBe(status);
  expect(answer.headers.get("content-type")).toBe("application/x-shout");
  expect(Object.keys((await answer.json()) as object)).toEqual(["OH"]);
  expect(answer.headers.get("allow")).toBe(status === 405 ? "GET, HEAD" : null);
  expect(answer.headers.get("www-authenticate")).toBe(status === 401 ? "Bearer" : null);
});

test.each(["fault", "call"])("a %s of an adapter reaches the caller without its text", async (what) => {
  await using server = await startApp({ adapters: [wire] });
  const answer = await server.app.request(`/shout/${what}`);
  expect(answer.status).toBe(500);
  expect(await answer.json()).toEqual({ OH: "an unexpected error occurred" });
});

test("outside the paths of the wire refusals are problem documents", async () => {
  await using server = await startApp({ adapters: [wire] });
  for (const path of ["/nothing", "/shouting", "/getevents/nothing"]) {
    const answer = await server.app.request(path);
    expect(answer.status).toBe(404);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
  }
});

test("a handler claims a request to a native path or passes it on with its body", async () => {
  await using server = await startApp({ adapters: [wire] });
  for (const path of ["", "/echo"]) {
    const claimed = await post(server.app, `${path}/process`, ["a"]);
    expect(await claimed.json()).toEqual({ SHOUTED: ["a"] });
    const refused = await post(server.app, `${path}/process`, []);
    expect(refused.status).toBe(422);
    expect(await refused.json()).toEqual({ OH: "nothing to shout" });
    const native = await post(server.app, `${path}/process?wait=completed`, { input: "hi" });
    expect(await native.json()).toMatchObject({ type: "RequestCompleted", result: "hi" });
    const wrong = await post(server.app, `${path}/process`, { type: "No" });
    expect(wrong.headers.get("content-type")).toBe("application/problem+json");
  }
});

test("an open path needs no token and is served under any address, but under no foreign name", async () => {
  await using server = await startApp({ adapters: [wire], token: "secret" });
  const get = (path: string, headers: Record<string, string>): Response | Promise<Response> =>
    server.app.request(path, { headers });
  expect((await get("/shout/health", {})).status).toBe(200);
  expect((await get("/echo/shout/health", { host: "10.0.0.7:4100" })).status).toBe(200);
  expect((await get("/shout/health", { host: "evil.test" })).status).toBe(421);
  expect((await get("/shout/hello", { host: "10.0.0.7", authorization: "Bearer secret" })).status).toBe(421);
  expect((await get("/health", {})).status).toBe(401);
});

test("an adapter checks a password against the token of the server, which limits wrong ones", async () => {
  await using server = await startApp({ adapters: [wire], token: "secret" });
  expect((await post(server.app, "/shout/health", { password: "secret" })).status).toBe(200);
  for (let count = 0; count < 10; count += 1) {
    expect((await post(server.app, "/shout/health", { password: `wrong${count}` })).status).toBe(401);
  }
  expect((await post(server.app, "/shout/health", { password: "again" })).status).toBe(429);
  expect((await post(server.app, "/shout/health", { password: "secret" })).status).toBe(200);
});

test("pages of allowed origins may send and read the headers of the wire", async () => {
  const origin = "https://app.example";
  await using server = await startApp({ adapters: [wire], allowedOrigins: [origin] });
  const asks = { origin, "access-control-request-method": "POST" };
  const preflight = await server.app.request("/shout/hello", { method: "OPTIONS", headers: asks });
  expect(preflight.headers.get("access-control-allow-headers")).toBe(
    "content-type, authorization, last-event-id, x-shout",
  );
  const answer = await server.app.request("/shout/hello", { headers: { origin } });
  expect(answer.headers.get("access-control-expose-headers")).toMatch(/^Location, .*, X-Volume$/);
});

test("an agent cannot have the name of a root of an adapter", async () => {
  const taken: Adapter = { ...wire, roots: ["say", "echo"] };
  await expect(startApp({ adapters: [taken] }, [echo])).rejects.toThrow(
    "the agent echo has the name of a path of the wire shout",
  );
});

test("without the native protocol only the adapter is served", async () => {
  await using server = await startApp({ adapters: [wire], native: false });
  expect((await server.app.request("/shout/hello")).status).toBe(200);
  expect((await server.app.request("/echo/describe")).status).toBe(404);
  expect((await post(server.app, "/process", { input: "hi" })).status).toBe(404);
});

test("an app without the native protocol leaves the gauges of the native one alone", async () => {
  const metrics = createMetrics();
  await using server = await startApp({ metrics });
  await using waiting = await startApp({ metrics, adapters: [wire], native: false });
  const asked = await post(server.app, "/payments/process?wait=completed", { input: "pay 3 to bob" });
  const { request_id: id } = (await asked.json()) as { readonly request_id: string };
  const stream = await server.app.request(`/getevents/${id}?stream=true&follow=true`);
  expect((await waiting.app.request("/shout/hello")).status).toBe(200);
  expect(await (await server.app.request("/metrics")).text()).toContain("troupe_streams 1");
  await stream.body?.cancel();
});
