import { createRuntime, defineAgent, defineTool, memoryLog } from "troupe";
import type { ReadinessPart, Telemetry, Tool } from "troupe";
import { createApp, createMetrics } from "troupe/http";
import { nodeEnvironment } from "troupe/node";
import { expect, test } from "vitest";
import { z } from "zod";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { besideProtocol, bodyOf, post, routesOf, startApp } from "../server.ts";

test("the list of agents has their paths, as objects or as pairs", async () => {
  await using server = await startApp();
  expect(await (await server.app.request("/")).json()).toEqual([
    { name: "echo", path: "/echo" },
    { name: "payments", path: "/payments" },
    { name: "ticker", path: "/ticker" },
  ]);
  expect(await (await server.app.request("/?format=pairs")).json()).toEqual([
    ["echo", "/echo"],
    ["payments", "/payments"],
    ["ticker", "/ticker"],
  ]);
});

test("an unknown agent is a 404 that lists the known ones", async () => {
  await using server = await startApp();
  for (const [method, path] of [
    ["GET", "/nobody/describe"],
    ["POST", "/nobody/process"],
    ["GET", "/nobody/getevents/req_1"],
  ] as const) {
    const answer = await server.app.request(path, { method });
    expect(answer.status).toBe(404);
    const { detail, hint } = await bodyOf(answer);
    expect(`${String(detail)} ${String(hint)}`).toMatch(/nobody.*echo/);
  }
});

test.each([
  ["POST", "/echo/describe", "GET, HEAD"],
  ["GET", "/echo/process", "POST"],
  ["PUT", "/process", "POST"],
  ["POST", "/runs/run_1", "GET, HEAD, DELETE"],
  ["DELETE", "/artifacts", "POST"],
  ["TRACE", "/", "GET, HEAD"],
])("%s %s is a 405 that allows %s", async (method, path, allow) => {
  await using server = await startApp();
  // The Request class does not allow every method that HTTP does.
  const request = new Proxy(new Request(`http://localhost${path}`), {
    get: (target, key): unknown => (key === "method" ? method : Reflect.get(target, key, target)),
  });
  const answer = await server.app.fetch(request);
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, allow]);
  expect(await bodyOf(answer)).toMatchObject({ code: "method_not_allowed" });
});

test("an unknown path is a 404 with a hint", async () => {
  await using server = await startApp();
  for (const path of ["/nothing", "/echo", "/echo/nothing", "/constructor", "/__proto__/x"]) {
    const answer = await server.app.request(path);
    expect(answer.status).toBe(404);
    expect(await bodyOf(answer)).toMatchObject({
      code: "not_found",
      hint: expect.stringContaining("openapi") as string,
    });
  }
});

test("the OpenAPI document describes every served route, and all its references resolve", async () => {
  await using server = await startApp();
  const document = await bodyOf(await server.app.request("/openapi.json"));
  expect(document["openapi"]).toBe("3.1.0");
  const paths = document["paths"] as Record<string, Record<string, unknown>>;
  const described = Object.entries(paths).flatMap(([path, { servers, ...item }]) =>
    Object.keys(item)
      .filter((key) => key !== "parameters")
      // A path without its own servers is below the path of each agent too.
      .flatMap((method) => (servers === undefined ? ["", "/*"] : [""]).map((base) => [method, base] as const))
      .map(([method, base]) => `${method.toUpperCase()} ${base}${path.replaceAll(/\{\w+\}/g, "*")}`),
  );
  expect(document["servers"]).toMatchObject([
    { url: "." },
    { url: "./{agent}", variables: { agent: { enum: ["echo", "payments", "ticker"] } } },
  ]);
  const served = routesOf(server.app)
    .filter((route) => !besideProtocol.includes(route))
    .map((route) => route.replace(/ \/(?:echo|payments|ticker)\//, " /*/").replaceAll(/:\w+/g, "*"))
    .map((route) => route.replace("/schemas/*", "/schemas/*.json"));
  expect(new Set(described)).toEqual(new Set(served));

  const { schemas } = document["components"] as { schemas: Record<string, unknown> };
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
  expect(references.length).toBeGreaterThan(20);
  for (const [, name = ""] of references) expect(schemas).toHaveProperty(name);
});

test("the OpenAPI document has an id for each operation, and describes the token", async () => {
  await using server = await startApp();
  const document = await bodyOf(await server.app.request("/openapi.json"));
  const items = Object.values(document["paths"] as Record<string, Record<string, unknown>>);
  const operations = items.flatMap(({ parameters: _parameters, servers: _servers, ...methods }) =>
    Object.values(methods),
  );
  const ids = operations.map((operation) => (operation as { readonly operationId?: string }).operationId);
  expect(new Set(ids).size).toBe(operations.length);
  for (const id of ids) expect(id).toMatch(/^(get|post|delete)[A-Za-z]+$/);
  expect(ids).toEqual(expect.arrayContaining(["getAgents", "postProcess", "getEventsById"]));
  expect(document["components"]).toMatchObject({
    securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
  });
  expect(document["security"]).toContainEqual({ bearer: [] });
});

test("each schema has its own address", async () => {
  await using server = await startApp();
  const answer = await server.app.request("/schemas/ChatRequest.json");
  expect(answer.headers.get("content-type")).toBe("application/schema+json");
  expect(await bodyOf(answer)).toMatchObject({ type: "object", required: ["type", "input"] });
  for (const path of ["Nothing.json", "ChatRequest", "toString.json", "__proto__.json"]) {
    expect((await server.app.request(`/schemas/${path}`)).status).toBe(404);
  }
});

test("health reports the durability of the log and the current work", async () => {
  await using server = await startApp();
  expect(await bodyOf(await server.app.request("/healthz"))).toMatchObject({
    status: "ok",
    durability: "memory",
    log: { writable: true },
    active_turns: 0,
  });
});

test("the server is ready until it is about to stop", async () => {
  const stopping = new AbortController();
  await using server = await startApp({ signal: stopping.signal });
  expect((await server.app.request("/readyz")).status).toBe(200);
  stopping.abort();
  const answer = await server.app.request("/readyz");
  expect(answer.status).toBe(503);
  expect(answer.headers.has("retry-after")).toBe(true);
  expect((await server.app.request("/healthz")).status).toBe(200);
});

test("the server is not ready while its log cannot be written", async () => {
  const log = { ...memoryLog(), health: () => ({ writable: false, reason: "the disk is full" }) };
  const runtime = createRuntime({ agents: [echo], log });
  await runtime.ready();
  const answer = await createApp(runtime).request("/readyz");
  expect(answer.status).toBe(503);
  expect(await bodyOf(answer)).toMatchObject({ code: "unavailable", detail: "the disk is full" });
  await runtime.close();
});

test("each part of the server is named, and what depends on a tool degrades it without failing it", async () => {
  let state: ReadinessPart["state"] = "ready";
  const probe = (): ReadinessPart => ({ name: "stock", state, detail: "the stock does not answer" });
  const [count, order] = ["count", "order"].map((name) =>
    defineTool({ name, description: "", input: z.object({}), readiness: probe, run: () => "" }),
  ) as [Tool, Tool];
  const odd = ["throws", "lies", "rejects"].map((name) =>
    defineTool({ name, description: "", input: z.object({}), readiness: ODD[name] as never, run: () => "" }),
  );
  const chat = (): string => "";
  const shop = defineAgent({ name: "shop", purpose: "", tools: [count, order], chat });
  const strange = defineAgent({ name: "strange", purpose: "", tools: odd, chat });
  await using server = await startApp({}, [shop, strange]);
  const ready = async (): Promise<unknown> => {
    const answer = await server.app.request("/readyz");
    return [answer.status, await bodyOf(answer)];
  };
  const own = ["server", "nodes", "log"].map((name) => ({ name, state: "ready" }));
  const unknown = { name: "unknown", state: "degraded", detail: "a part of the server cannot say how it is" };
  const detail = "the stock does not answer";
  const parts = [...own, { name: "stock", state: "ready", detail }, unknown, unknown, unknown];
  expect(await ready()).toEqual([200, { status: "degraded", parts }]);
  state = "failed";
  expect(await ready()).toMatchObject([503, { code: "unavailable", detail }]);
});

const ODD: { readonly [name: string]: () => unknown } = {
  throws() {
    throw new Error("no");
  },
  lies: () => ({ name: {}, state: "splendid" }),
  rejects: () => Promise.reject(new Error("no")),
};

test("the metrics report agents, log, streams and process", async () => {
  const metrics = createMetrics();
  const runtime = createRuntime({ agents: [echo], telemetry: metrics });
  const app = createApp(runtime, { metrics });
  await post(app, "/echo/process?wait=completed", { input: "one two" });
  const answer = await app.request("/metrics");
  expect(answer.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const text = await answer.text();
  for (const line of [
    'troupe_requests_accepted_total{agent="echo"} 1',
    'troupe_turn_seconds_count{agent="echo",reason="success"} 1',
    "troupe_events_total 4",
    "troupe_streams 0",
    "troupe_active_turns 0",
    /^process_cpu_seconds_total /m,
    /^nodejs_eventloop_lag_p99_seconds /m,
  ]) {
    expect(text).toMatch(line);
  }
  await runtime.close();
});

test("the metrics of an app without the telemetry of its runtime do not say what a runtime counts", async () => {
  const runtime = createRuntime({ agents: [echo] });
  for (const app of [createApp(runtime), createApp(runtime, { metrics: createMetrics() })]) {
    await post(app, "/echo/process?wait=completed", { input: "one two" });
    const names = namesOf(await (await app.request("/metrics")).text());
    expect(names).toContain("process_cpu_seconds_total");
    expect(names.filter((name) => name.startsWith("troupe_")).toSorted()).toEqual([
      "troupe_active_runs",
      "troupe_active_turns",
      "troupe_faults_total",
      "troupe_model_away",
      "troupe_model_waiting",
      "troupe_parts_degraded",
      "troupe_parts_failed",
      "troupe_requests_queued",
      "troupe_slots_taken",
      "troupe_slots_waiting",
      "troupe_streams",
      "troupe_turns_held",
      "troupe_wait_oldest_seconds",
      "troupe_waits_open",
    ]);
  }
  await runtime.close();

  // Before its first request a runtime has really committed nothing.
  const metrics = createMetrics();
  const counting = createRuntime({ agents: [echo], telemetry: metrics });
  expect(await (await createApp(counting, { metrics }).request("/metrics")).text()).toMatch(
    /^troupe_commits_total 0$/m,
  );
  await counting.close();
});

test("the metrics say what a runtime counts also if its telemetry is a program's own, which passes the counts on", async () => {
  const metrics = createMetrics();
  const telemetry: Telemetry = {
    accepted: (agent) => metrics.accepted(agent),
    completed: (agent, ...ended) => metrics.completed(agent, ...ended),
    committed: (events, ms) => metrics.committed(events, ms),
    dropped: (what) => metrics.dropped(what),
    failed: (message, ...facts) => metrics.failed(message, ...facts),
    fault: (message, ...facts) => metrics.fault(message, ...facts),
  };
  const runtime = createRuntime({ agents: [echo], telemetry });
  const app = createApp(runtime, { metrics });
  await post(app, "/echo/process?wait=completed", { input: "one two" });
  const text = await (await app.request("/metrics")).text();
  expect(text).toMatch(/^troupe_requests_accepted_total\{agent="echo"\} 1$/m);
  expect(text).toMatch(/^troupe_commits_total [1-9]/m);
  await runtime.close();
});

test("every text answer ends with one line break", async () => {
  await using server = await startApp();
  for (const path of ["/", "/echo/describe", "/openapi.json", "/healthz", "/runs", "/metrics", "/nothing"]) {
    expect(await (await server.app.request(path)).text()).toMatch(/[^\n]\n$/);
  }
  const answer = await post(server.app, "/echo/process?wait=completed", { input: "hello" });
  expect(await answer.text()).toMatch(/^\{.*\}\n$/);
});

test("two apps in one process have separate metrics", async () => {
  await using first = await startApp();
  await using second = await startApp();
  const stream = await first.app.request("/ticker/stream_request", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: "2 600000" }),
  });
  expect(await (await first.app.request("/metrics")).text()).toContain("troupe_streams 1");
  expect(await (await second.app.request("/metrics")).text()).toContain("troupe_streams 0");
  await stream.body?.cancel();
});

test("an unexpected error is `internal`, reported once to the server's log and to no client", async () => {
  const told: unknown[] = [];
  const metrics = createMetrics({ log: (_, detail) => told.push(detail) });
  const runtime = createRuntime({ agents: [echo] });
  const broken = new TypeError("cannot read /home/ada/secret.txt");
  const faulty = { ...runtime, status: () => Promise.reject(broken) };
  const app = createApp({ ...runtime, as: () => faulty }, { metrics });
  for (let time = 0; time < 3; time += 1) {
    const answer = await app.request("/request/req_1");
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain("ada");
  }
  expect(told).toEqual([broken]);
  await runtime.close();
});

test("runs are listed newest first, with pages and filters by agent and status", async () => {
  // Runs that were updated in the same millisecond have no order.
  let nowMs = Date.parse("2026-01-31T12:00:00Z");
  const environment = { ...nodeEnvironment(), now: () => (nowMs += 1) };
  await using server = await startApp({}, [echo, payments], environment);
  const ids: unknown[] = [];
  for (const path of ["/echo", "/payments", "/echo"]) {
    const input = path === "/echo" ? "hello" : "pay 3 to bob";
    ids.unshift(
      (await bodyOf(await post(server.app, `${path}/process?wait=completed`, { input })))["run_id"],
    );
  }
  const listed = async (path: string): Promise<unknown[]> => {
    const rows = (await (await server.app.request(path)).json()) as { run_id: string }[];
    return rows.map(({ run_id }) => run_id);
  };
  expect(await listed("/runs")).toEqual(ids);
  expect(await listed("/payments/runs")).toEqual([ids[1]]);
  expect(await listed("/runs?agent=echo")).toEqual([ids[0], ids[2]]);
  expect(await listed("/runs?status=waiting")).toEqual([ids[1]]);

  const first = await server.app.request("/runs?limit=2");
  const next = /^<(.*)>; rel="next"$/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
  expect(next).toMatch(/^\/runs\?limit=2&cursor=/);
  expect(await listed(next)).toEqual([ids[2]]);
  for (const query of ["limit=-1", "limit=a", "status=busy", "limit=1&limit=2"]) {
    expect((await server.app.request(`/runs?${query}`)).status).toBe(400);
  }
});

test("a run without open requests can be removed, and is gone then", async () => {
  await using server = await startApp();
  const asks = await bodyOf(
    await post(server.app, "/payments/process?wait=completed", { input: "pay 3 to bob" }),
  );
  const path = `/runs/${String(asks["run_id"])}`;
  expect((await server.app.request(path, { method: "DELETE" })).status).toBe(409);
  const cancel = { type: "CancelRequest", request_id: asks["request_id"] };
  await post(server.app, "/payments/process?wait=true", cancel);
  const removed = await server.app.request(path, { method: "DELETE" });
  expect(removed.status).toBe(204);
  expect(await removed.text()).toBe("");
  expect((await server.app.request(`/events/${String(asks["run_id"])}`)).status).toBe(410);
  expect((await server.app.request("/runs/run_none", { method: "DELETE" })).status).toBe(404);
});

/** The names of the metrics in a text of Prometheus. */
function namesOf(text: string): string[] {
  return [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = ""]) => name);
}
