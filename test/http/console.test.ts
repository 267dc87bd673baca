import { Hono } from "hono";
import { createRuntime } from "troupe";
import { createApp } from "troupe/http";
import type { ConsolePages } from "troupe/http";
import { expect, test } from "vitest";
import { echo } from "../../agents/echo.ts";

const pages: ConsolePages = {
  page: '<!doctype html><script src="./console/main.js"></script>',
  files: new Map([["main.js", { type: "text/javascript", text: "0;" }]]),
};
const runtime = createRuntime({ agents: [echo] });
const app = createApp(runtime, { console: pages });
const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

test("a browser gets the page at the root, a program the list of agents", async () => {
  const page = await app.request("/", { headers: browser });
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(await page.text()).toContain("./console/main.js");
  for (const accept of ["*/*", "application/json"]) {
    const list = await app.request("/", { headers: { accept } });
    expect(await list.json()).toEqual([{ name: "echo", path: "/echo" }]);
    expect(list.headers.get("vary")).toContain("Accept");
  }
  expect(page.headers.get("vary")).toContain("Accept");
});

test("the page may load its own files only, may not be framed, and its scripts make no HTML", async () => {
  const { headers } = await app.request("/", { headers: browser });
  const policy = headers.get("content-security-policy") ?? "";
  for (const rule of [
    "default-src 'none'",
    "script-src 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ]) {
    expect(policy).toContain(rule);
  }
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
});

test("files of the page are cached for ever, and an unknown one is 404", async () => {
  const file = await app.request("/console/main.js");
  expect([file.status, file.headers.get("content-type")]).toEqual([200, "text/javascript"]);
  expect(file.headers.get("cache-control")).toContain("immutable");
  const missing = await app.request("/console/old.js");
  expect(missing.status).toBe(404);
  expect(await missing.json()).toMatchObject({ hint: expect.stringContaining("loaded again") as string });
});

test("page and files need no token, everything else does", async () => {
  const guarded = createApp(runtime, { console: pages, token: "secret" });
  expect((await guarded.request("/", { headers: browser })).status).toBe(200);
  expect((await guarded.request("/console/main.js")).status).toBe(200);
  for (const path of ["/", "/echo/describe", "/runs"]) expect((await guarded.request(path)).status).toBe(401);
  const posted = await guarded.request("/", { method: "POST", headers: browser });
  expect(posted.status).toBe(401);
  const foreign = await guarded.request("/", { headers: { ...browser, host: "evil.test" } });
  expect(foreign.status).toBe(421);
});

test("below a prefix the page finds its files", async () => {
  const mounted = new Hono().route("/agents", app);
  const page = await mounted.request("/agents", { headers: browser });
  expect(await page.text()).toContain('"/agents/console/main.js"');
  expect((await mounted.request("/agents/console/main.js")).status).toBe(200);
});

test("without the console a browser gets the list of agents", async () => {
  const plain = createApp(runtime);
  const list = await plain.request("/", { headers: browser });
  expect(await list.json()).toEqual([{ name: "echo", path: "/echo" }]);
  expect((await plain.request("/console/main.js")).status).toBe(404);
});

test("what operators see is there with the console only, and only for its own page", async () => {
  const turn = await runtime.process("echo", { type: "ChatRequest", input: "hello" });
  await runtime.acknowledgement(turn, { until: "completed", timeoutMs: 10_000 });
  const shown = createApp(runtime, {
    console: { ...pages, version: "1.2.3" },
    allowedOrigins: ["https://app.example"],
  });
  const read = async (path: string): Promise<unknown> => (await shown.request(path)).json();
  expect(await read("/inspect")).toMatchObject({
    version: "1.2.3",
    instance: expect.any(String) as string,
    started_at: expect.any(String) as string,
    durability: "memory",
    limits: { queued_requests: 8 },
  });
  expect(await read("/inspect/agents/echo")).toMatchObject({ name: "echo", kind: "agent", tools: [] });
  expect(await read(`/inspect/runs/${turn.runId}?at=1`)).toMatchObject({
    run_id: turn.runId,
    at: 1,
    memory: {},
    marks: [{ type: "accepted", after: 0, request_id: turn.requestId }],
  });
  expect(await read("/inspect/actors")).toMatchObject([
    { run_id: turn.runId, agent: "echo", status: "idle" },
  ]);
  const statuses = async (paths: readonly string[]): Promise<readonly number[]> =>
    Promise.all(paths.map(async (path) => (await shown.request(path)).status));
  expect(
    await statuses([
      "/inspect/agents/nobody",
      "/inspect/runs/run_none",
      `/inspect/runs/${turn.runId}?at=x`,
      `/inspect/completions/${turn.requestId}/c1.1`,
      "/inspect/completions/req_none/c1.1",
      "/inspect/runs/%00",
    ]),
  ).toEqual([404, 404, 400, 404, 404, 400]);

  const foreign = { origin: "https://app.example" };
  const allowed = await shown.request("/runs", { headers: foreign });
  expect([allowed.status, allowed.headers.get("access-control-allow-origin")]).toEqual([200, foreign.origin]);
  const refused = await shown.request("/inspect", { headers: foreign });
  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([403, null]);
  const problem = (await refused.json()) as { readonly detail: string; readonly hint: string };
  expect(problem.detail).toContain("/inspect");
  // The option allowedOrigins, which other refusals name, already has the origin.
  expect(problem.hint).toBe("open the console at the address of the server");
  expect(
    (await shown.request("/inspect", { headers: { origin: "http://localhost", host: "localhost" } })).status,
  ).toBe(200);
  const guarded = createApp(runtime, { console: pages, token: "secret" });
  expect((await guarded.request("/inspect")).status).toBe(401);
  for (const path of ["/inspect", "/inspect/agents/echo", `/inspect/runs/${turn.runId}`])
    expect((await createApp(runtime).request(path)).status).toBe(404);
});
