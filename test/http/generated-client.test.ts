// A client that openapi-typescript makes of the served document calls every route, and no type is cast on the way.
import { createRuntime } from "troupe";
import { createApp } from "troupe/http";
import createClient from "openapi-fetch";
import { afterAll, beforeAll, expect, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { payments } from "../../agents/payments.ts";
import { lint, toTypes } from "../openapi/tools.ts";
import { AnswerCheck } from "./answer-check.ts";
import type { OpenApi } from "./answer-check.ts";
import type { paths } from "./openapi.gen.ts";

const runtime = createRuntime({ agents: [echo, payments] });
const app = createApp(runtime);
let check: AnswerCheck;
beforeAll(async () => {
  check = new AnswerCheck((await (await app.request("/openapi.json")).json()) as OpenApi);
});
afterAll(() => runtime.close());

const clientOf = (baseUrl: string): ReturnType<typeof createClient<paths>> =>
  createClient<paths>({
    baseUrl,
    fetch: async (request) => check.answer(request, await app.fetch(request)),
  });
const server = clientOf("http://localhost");
const agent = clientOf("http://localhost/payments");

test("the types that are generated from the document are those that this test is compiled with", async () => {
  const document = JSON.stringify(check.document, (key, value: unknown) =>
    key === "description" && typeof value === "string" ? undefined : value,
  );
  await expect(await toTypes(document)).toMatchFileSnapshot("openapi.gen.ts");
});

test("a linter of OpenAPI documents has nothing to say", async () => {
  expect(await lint(JSON.stringify(check.document))).toEqual([]);
});

test("every route is called by the generated client, and every answer fits the document", async () => {
  const list = await server.GET("/");
  expect(list.data?.map((entry) => ("name" in entry ? entry.name : entry[0]))).toEqual(["echo", "payments"]);
  const pairs = await server.GET("/", { params: { query: { format: "pairs" } } });
  expect(pairs.data?.map((entry) => ("name" in entry ? entry.path : entry[1]))).toEqual([
    "/echo",
    "/payments",
  ]);
  expect((await server.GET("/openapi.json")).data).toBeDefined();
  expect(
    (await server.GET("/schemas/{name}.json", { params: { path: { name: "Event" } } })).data,
  ).toBeDefined();
  expect((await server.GET("/healthz")).data?.log.writable).toBe(true);
  expect((await server.GET("/readyz")).data?.status).toBe("ok");
  expect((await server.GET("/metrics", { parseAs: "text" })).data).toContain("troupe_");

  const described = await agent.GET("/describe");
  expect(described.data?.operations.map(({ name }) => name)).toEqual(["chat", "pay"]);
  const configured = await agent.POST("/configure", {
    params: { query: { wait: true } },
    body: { type: "ConfigureRequest", args: {} },
  });
  expect(configured.data).toMatchObject({ type: "RequestCompleted", id: 0 });
  await agent.POST("/process", {
    params: { query: { wait: true } },
    body: { type: "ConfigureRequest", args: {} },
  });

  const stored = await agent.POST("/artifacts", {
    params: { query: { name: "a.txt" } },
    headers: { "content-type": "text/plain" },
    body: "hello",
    bodySerializer: String,
  });
  const artifactId = stored.data?.artifact_id ?? "";
  const file = await agent.GET("/artifacts/{artifact_id}", {
    params: { path: { artifact_id: artifactId } },
    parseAs: "text",
  });
  expect(file.data).toBe("hello");

  const asked = await agent.POST("/process", {
    params: { query: { wait: "completed", wait_ms: 30_000, on_busy: "enqueue" } },
    body: { type: "ChatRequest", input: "pay 3 to bob", attachments: [artifactId] },
  });
  const wait = asked.data;
  if (wait === undefined || !("type" in wait) || wait.type !== "WaitForInput") throw new Error("not asked");
  const accepted = await agent.POST("/process", {
    body: { type: "ResumeWithInput", request_id: wait.request_id, request_keys: { approved: true } },
  });
  expect(accepted.response.status).toBe(202);
  const path = { request_id: wait.request_id };
  await agent.POST("/process", {
    params: { query: { wait: true } },
    body: { type: "CancelRequest", ...path },
  });
  const status = await agent.GET("/request/{request_id}", { params: { path } });
  expect(status.data).toMatchObject({ status: "completed", agent: "payments" });

  const query = { since: 0, max_depth: 3, consumer: "me", timeout: 0 };
  const run = { id: wait.run_id };
  const byRequest = await agent.GET("/getevents", { params: { query: { ...query, ...path } } });
  const byRun = await agent.GET("/events", { params: { query: { ...query, run_id: wait.run_id } } });
  const byId = await agent.GET("/getevents/{id}", { params: { path: run, query } });
  const byRunId = await agent.GET("/events/{id}", { params: { path: run, query } });
  for (const { data } of [byRequest, byRun, byId, byRunId]) {
    expect(data?.[0]).toMatchObject({ type: "RequestStarted", input: "pay 3 to bob" });
    const texts = data?.flatMap((event) => (event.type === "TextOutput" ? [event.content] : []));
    expect(texts).toEqual(["Paid 3 to bob."]);
  }

  const streamed = await agent.POST("/stream_request", {
    params: { header: { "Last-Event-ID": "1" } },
    body: { type: "ChatRequest", input: "pay", request_id: wait.request_id },
    parseAs: "text",
  });
  expect(streamed.error?.code).toBe("conflict");
  const stream = await agent.POST("/stream_request", {
    body: { type: "ChatRequest", input: "pay" },
    parseAs: "text",
  });
  expect(stream.data).toContain("data: {");

  const runs = await server.GET("/runs", {
    params: { query: { limit: 10, status: "idle", agent: "payments" } },
  });
  expect(runs.data?.[0]?.agent).toBe("payments");
  const forked = await server.POST("/runs/{run_id}/fork", {
    params: { path: { run_id: wait.run_id } },
    body: { after: byId.data?.at(-1)?.id ?? 0 },
  });
  const fork = { run_id: forked.data?.run_id ?? "" };
  expect((await server.DELETE("/runs/{run_id}", { params: { path: fork } })).response.status).toBe(204);
  const gone = await server.DELETE("/runs/{run_id}", { params: { path: fork } });
  expect(gone.error?.code).toBe("gone");

  expect(check.faults).toEqual([]);
  expect(check.uncalled).toEqual([]);
});
