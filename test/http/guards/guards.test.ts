import { createMetrics } from "troupe/http";
import { expect, test } from "vitest";
import { bodyOf, post, startApp } from "../server.ts";

const LIST = "http://localhost/";
const from = (headers: Record<string, string>): RequestInit => ({ headers });

test.each(["localhost", "localhost:4100", "127.0.0.1:80", "[::1]:4100", "LOCALHOST:1"])(
  "the server answers to the loopback name %s",
  async (host) => {
    await using server = await startApp();
    expect((await server.app.request(LIST, from({ host }))).status).toBe(200);
  },
);

test.each([
  "evil.test",
  "localhost.evil.test",
  "127.0.0.1.evil.test:4100",
  "0.0.0.0:4100",
  "localhost:4100@evil.test",
  "::1",
  "local host",
])("a page that reached the server as %s is misdirected, on every route", async (host) => {
  await using server = await startApp();
  for (const path of ["", "echo/describe", "getevents/req_1?stream=true", "metrics", "nothing"]) {
    const answer = await server.app.request(`${LIST}${path}`, from({ host }));
    expect(answer.status).toBe(421);
    expect(await bodyOf(answer)).toMatchObject({ code: "misdirected" });
  }
});

test("host names of the server are allowed with any port, or only with the given one", async () => {
  await using server = await startApp({ allowedHosts: ["troupe.example", "other.example:81"] });
  const statusOf = async (host: string): Promise<number> =>
    (await server.app.request(LIST, from({ host }))).status;
  expect(await statusOf("troupe.example")).toBe(200);
  expect(await statusOf("Troupe.Example:8443")).toBe(200);
  expect(await statusOf("other.example:81")).toBe(200);
  expect(await statusOf("other.example")).toBe(421);
});

test("with a token every host name can be allowed, without one that is refused", async () => {
  await using server = await startApp({ allowedHosts: ["*"], token: "secret" });
  const headers = { host: "anything.test:81", authorization: "Bearer secret" };
  expect((await server.app.request(LIST, from(headers))).status).toBe(200);
  await expect(startApp({ allowedHosts: ["*"] })).rejects.toMatchObject({
    code: "forbidden",
    message: "allowedHosts has *, and there is no token",
  });
});

test.each(["https://app.example", "*.example", "app.example/", "app.example:port", "a b", ""])(
  "the allowed host %j, which no request can have, is refused",
  async (host) => {
    await expect(startApp({ allowedHosts: [host] })).rejects.toMatchObject({
      code: "invalid_request",
      message: `the allowed host ${JSON.stringify(host)} is not a host name`,
    });
  },
);

test.each(["app.example", "https://app.example/path", "*", "null", "file:///a", ""])(
  "the allowed origin %j, which no page can have, is refused",
  async (origin) => {
    await expect(startApp({ allowedOrigins: [origin] })).rejects.toMatchObject({
      code: "invalid_request",
      message: `the allowed origin ${JSON.stringify(origin)} is not an origin`,
    });
  },
);

test.each(["https://app.example", "https://app.example/", "HTTPS://App.Example:443"])(
  "the allowed origin %s is that of a page",
  async (entry) => {
    await using server = await startApp({ allowedOrigins: [entry] });
    expect((await server.app.request(LIST, from({ origin: "https://app.example" }))).status).toBe(200);
  },
);

test.each(["10.0.0.7:4100", "10.0.0.7", "[fd00::7]:4100"])(
  "metrics are open to requests that address the instance by %s, and nothing else is",
  async (host) => {
    await using server = await startApp();
    expect((await server.app.request(`${LIST}metrics`, from({ host }))).status).toBe(200);
    for (const path of ["", "runs", "echo/describe", "metrics/x"]) {
      expect((await server.app.request(`${LIST}${path}`, from({ host }))).status).toBe(421);
    }
  },
);

test("the refusal of a page or a host says how to allow it", async () => {
  await using server = await startApp();
  const hintOf = async (headers: Record<string, string>): Promise<unknown> =>
    (await bodyOf(await server.app.request(LIST, from(headers))))["hint"];
  expect(await hintOf({ origin: "http://evil.test" })).toContain("--allowed-origin");
  expect(await hintOf({ "sec-fetch-site": "cross-site" })).toContain("--allowed-origin");
  expect(await hintOf({ host: "evil.test" })).toContain("--allowed-host");
});

test("health checks accept any host name", async () => {
  await using server = await startApp();
  for (const path of ["healthz", "readyz"]) {
    expect((await server.app.request(`${LIST}${path}`, from({ host: "10.0.0.7:4100" }))).status).toBe(200);
  }
});

test("several Host headers are a 400", async () => {
  await using server = await startApp();
  expect((await server.app.request(LIST, from({ host: "localhost, evil.test" }))).status).toBe(400);
});

test("the host name that a proxy forwards counts only if the proxy is trusted", async () => {
  await using trusting = await startApp({ trustProxy: true });
  await using careful = await startApp();
  const forwarded = from({ host: "localhost", "x-forwarded-host": "evil.test" });
  expect((await trusting.app.request(LIST, forwarded)).status).toBe(421);
  expect((await careful.app.request(LIST, forwarded)).status).toBe(200);
});

test.each(["http://evil.test", "null", "http://localhost:3000", "https://localhost:4100.evil.test"])(
  "a page of %s can neither read nor send",
  async (origin) => {
    await using server = await startApp();
    const headers = { host: "localhost:4100", origin };
    expect((await server.app.request(LIST, from(headers))).status).toBe(403);
    const asked = await post(server.app, "/echo/process", { type: "ChatRequest", input: "a" }, headers);
    expect(asked.status).toBe(403);
    expect((await server.runtime.runs({ limit: 10 })).runs).toEqual([]);
  },
);

test("a refused page leaves one line in the log, with the option that allows it", async () => {
  const lines: unknown[][] = [];
  const metrics = createMetrics({ log: (...line) => void lines.push(line) });
  await using server = await startApp({ metrics, allowedOrigins: ["https://app.example"] });
  const origins = [
    "http://localhost:3000",
    "http://localhost:3000",
    "null",
    "not an origin",
    "https://a.test/x",
  ];
  for (const origin of origins) await server.app.request(LIST, from({ host: "localhost:4100", origin }));
  // The own page, a page that is allowed, a program, and a page that is allowed but not in the console.
  for (const origin of ["http://localhost:4100", "https://app.example"])
    await server.app.request(LIST, from({ host: "localhost:4100", origin }));
  await server.app.request(LIST);
  await server.app.request(`${LIST}inspect`, from({ origin: "https://app.example" }));
  expect(lines).toEqual([
    [
      "a page of http://localhost:3000 was refused; to allow such pages: --allowed-origin http://localhost:3000",
    ],
    [
      "a page without an origin was refused, for example one that was opened as a file; serve it over HTTP to allow it",
    ],
  ]);
  expect(await metrics.text()).toMatch(/^troupe_faults_total 0$/m);
});

test("pages of many origins do not fill the log", { tags: "long" }, async () => {
  const lines: string[] = [];
  const metrics = createMetrics({ log: (line) => void lines.push(line) });
  await using server = await startApp({ metrics });
  for (let page = 0; page < 1_000; page += 1)
    await server.app.request(LIST, from({ origin: `https://page-${page}.test` }));
  expect(lines).toHaveLength(100);
  expect(lines.at(-1)).toMatch(
    /^a page of https:\/\/page-99\.test was refused; .*; no more such lines follow$/,
  );
});

test("pages of the server's own origin are allowed", async () => {
  await using server = await startApp();
  const own = { host: "localhost:4100", origin: "http://localhost:4100", "sec-fetch-site": "same-origin" };
  const answer = await server.app.request(LIST, from(own));
  expect(answer.status).toBe(200);
  expect(answer.headers.get("access-control-allow-origin")).toBeNull();
});

test("a cross-site request without an origin is refused, but a navigation is allowed", async () => {
  await using server = await startApp();
  for (const site of ["cross-site", "same-site"]) {
    const image = { "sec-fetch-site": site, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" };
    expect((await server.app.request(LIST, from(image))).status).toBe(403);
    const visit = { "sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    expect((await server.app.request(LIST, from(visit))).status).toBe(200);
    expect((await server.app.request(`${LIST}runs`, from(visit))).status).toBe(403);
  }
  expect((await server.app.request(LIST, from({ "sec-fetch-site": "none" }))).status).toBe(200);
});

test("a page of a listed origin can read the answers, including refusals", async () => {
  const origin = "https://app.example";
  await using server = await startApp({ allowedOrigins: [origin] });
  const headers = { origin, "sec-fetch-site": "cross-site" };
  for (const [path, status, varies] of [
    ["", 200, "Accept, Origin"],
    ["getevents/req_none", 404, "Origin"],
  ] as const) {
    const answer = await server.app.request(`${LIST}${path}`, from(headers));
    expect(answer.status).toBe(status);
    expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
    expect(answer.headers.get("vary")).toBe(varies);
  }
  const streamed = await post(server.app, "/echo/stream_request", { input: "a" }, headers);
  expect(streamed.headers.get("access-control-allow-origin")).toBe(origin);
  await streamed.text();
});

test("a listed origin can send a preflight request without a token", async () => {
  await using server = await startApp({ allowedOrigins: ["https://app.example"], token: "secret" });
  const preflight = (origin: string): Promise<Response> =>
    Promise.resolve(
      server.app.request(`${LIST}echo/process`, {
        method: "OPTIONS",
        headers: { origin, "access-control-request-method": "POST" },
      }),
    );
  const allowed = await preflight("https://app.example");
  expect(allowed.status).toBe(204);
  expect(Object.fromEntries(allowed.headers)).toMatchObject({
    "access-control-allow-origin": "https://app.example",
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": "content-type, authorization, last-event-id",
    "access-control-max-age": "600",
  });
  expect(allowed.headers.has("access-control-allow-credentials")).toBe(false);
  expect((await preflight("https://evil.test")).status).toBe(403);
});

test("answers forbid browsers to cache, sniff, frame and run anything", async () => {
  await using server = await startApp();
  for (const path of ["", "nothing", "openapi.json"]) {
    const { headers } = await server.app.request(`${LIST}${path}`);
    expect(Object.fromEntries(headers)).toMatchObject({
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
    });
    expect(headers.has("strict-transport-security")).toBe(false);
  }
});
