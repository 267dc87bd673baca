import fc from "fast-check";
import { createWebhooks } from "troupe/webhooks";
import { expect, test } from "vitest";
import type { Principal } from "troupe";
import { echo } from "../../../agents/echo.ts";
import { interviewer } from "../../../agents/interviewer.ts";
import { ticker } from "../../../agents/ticker.ts";
import { A2aServer } from "./server.ts";
import { runsLong } from "../../machine/long.ts";

test("what cannot be served is refused in the words of the protocol", async () => {
  await using server = await A2aServer.start([echo]);
  const version = { "a2a-version": "1.0" };
  const rpc = async (body: unknown, headers: Record<string, string> = version): Promise<unknown> =>
    (await server.post("/a2a/echo", body, headers)).json();
  const call = (method: string, params: unknown) => ({ jsonrpc: "2.0", id: 7, method, params });
  expect(await rpc("{")).toMatchObject({ jsonrpc: "2.0", error: { code: expect.any(Number) as number } });
  expect(await rpc(call("Nothing", {}))).toMatchObject({ id: 7, error: { code: -32_601 } });
  expect(await rpc(call("GetTask", { id: "x" }))).toMatchObject({ id: 7, error: { code: -32_001 } });
  expect(await rpc(call("GetTask", { id: "x" }), { "a2a-version": "9.0" })).toMatchObject({
    error: { code: -32_009 },
  });
  for (const method of ["SendMessage", "SendStreamingMessage"])
    expect(await rpc(call(method, { message: { messageId: "1", parts: [] } }))).toMatchObject({
      id: 7,
      error: {},
    });
  expect(await rpc(call("CreateTaskPushNotificationConfig", { taskId: "x" }))).toMatchObject({
    error: { code: -32_003 },
  });
  const rest = async (path: string, init: RequestInit = {}): Promise<unknown> => {
    const answer = await fetch(`${server.url}/a2a/echo/v1/${path}`, { headers: version, ...init });
    return { status: answer.status, ...((await answer.json()) as object) };
  };
  expect(await rest("tasks/x")).toMatchObject({ status: 404, error: {} });
  expect(await rest("nothing")).toMatchObject({ status: 404, error: {} });
  expect(await rest("tasks?pageSize=1000")).toMatchObject({ status: 400, error: {} });
  expect(await rest("tasks", { headers: {} })).toMatchObject({ status: 400, error: {} });
  expect(
    await rest("message:send", {
      method: "POST",
      body: "{",
      headers: { ...version, "content-type": "application/json" },
    }),
  ).toMatchObject({
    status: 400,
  });
  const foreign = { ...version, origin: "https://evil.example" };
  expect(await rest("tasks", { headers: foreign })).toMatchObject({ status: 403, error: {} });
  const large = await server.post("/a2a/echo", `"${"x".repeat(5_000_000)}"`, version);
  expect(large.status).toBe(413);
  expect((await server.runtime.runs({ limit: 1 })).runs).toEqual([]);
});

test("a tenant is the owner of the caller, and any other is refused", async () => {
  const authenticate = ({ headers }: Request): Principal => {
    const owner = headers.get("authorization") ?? "none";
    return { id: owner, owner, roles: ["user"] };
  };
  await using server = await A2aServer.start([echo], { serve: { authenticate } });
  const headers = { "a2a-version": "1.0", authorization: "acme", "content-type": "application/json" };
  const message = { role: "ROLE_USER", messageId: "1", parts: [{ text: "hi" }] };
  const rpc = async (tenant: string, method = "SendMessage", more: object = { message }): Promise<unknown> =>
    (
      await server.post("/a2a/echo", { jsonrpc: "2.0", id: 1, method, params: { tenant, ...more } }, headers)
    ).json();
  const sent = (await rpc("acme")) as { readonly result: { readonly task: { readonly id: string } } };
  const { id } = sent.result.task;
  const refused = { error: { message: expect.stringContaining("tenant") as string } };
  expect(await rpc("other")).toMatchObject(refused);
  expect(await rpc("other", "GetTask", { id })).toMatchObject(refused);

  const rest = async (path: string, init: RequestInit = {}): Promise<unknown> => {
    const answer = await fetch(`${server.url}/a2a/echo/v1/${path}`, { headers, ...init });
    return { code: answer.status, ...((await answer.json()) as object) };
  };
  const post = (body: object): RequestInit => ({ method: "POST", body: JSON.stringify(body) });
  for (const path of [`tasks/${id}`, `acme/tasks/${id}`, `tasks/${id}?tenant=acme`])
    expect(await rest(path)).toMatchObject({ code: 200, id });
  expect(await rest("acme/tasks")).toMatchObject({ code: 200, tasks: [{ id }] });
  expect(await rest("acme/message:send", post({ message }))).toMatchObject({ code: 200, task: {} });
  for (const path of [`other/tasks/${id}`, "other/tasks", "tasks?tenant=other"])
    expect(await rest(path)).toMatchObject({ code: 400, ...refused });
  expect(await rest("message:send", post({ message, tenant: "other" }))).toMatchObject({
    code: 400,
    ...refused,
  });
});

test("a field of a 0.3 client that is no text is refused, also with a log on disk", async () => {
  await using server = await A2aServer.start([echo], { durable: true });
  const told = async (method: string, params: unknown): Promise<unknown> => {
    const answer = await server.post("/a2a/echo", { jsonrpc: "2.0", id: 1, method, params }, {});
    return ((await answer.json()) as { readonly error?: unknown }).error;
  };
  const noText = { toString: 1 };
  const message = { kind: "message", role: "user", messageId: "m", parts: [{ kind: "text", text: "hi" }] };
  for (const method of ["tasks/get", "tasks/cancel"])
    for (const params of [{}, { id: 5 }, { id: noText }])
      expect(await told(method, params)).toMatchObject({ code: -32_001 });
  for (const wrong of [
    { taskId: noText },
    { contextId: {} },
    { parts: [{ kind: "text", text: {} }] },
    { parts: [{ kind: "text", text: noText }] },
    { parts: [{ kind: "file", file: { uri: noText } }] },
  ])
    for (const method of ["message/send", "message/stream"])
      expect(await told(method, { message: { ...message, ...wrong } })).toMatchObject({
        code: -32_602,
        message: expect.stringContaining("must be a string") as string,
      });
  expect((await server.runtime.runs({ limit: 1 })).runs).toEqual([]);
});

/** How many bodies the random test sends. */
const CASES = Number(process.env["WIRE_BODIES"] ?? (runsLong ? 1_000 : 50));

test("no body causes a fault", { timeout: 300_000 + CASES * 20 }, async () => {
  const hooks = createWebhooks([]);
  await using server = await A2aServer.start(
    [echo, ticker, interviewer, hooks.agent],
    { serve: { listeners: [hooks] } },
    { push: hooks.push },
  );
  const noise = fc.oneof(fc.jsonValue(), fc.string());
  const part = fc.record(
    { text: noise, data: noise, raw: noise, url: noise, metadata: noise, filename: noise, kind: noise },
    { requiredKeys: [] },
  );
  const message = fc.record(
    {
      messageId: fc.oneof(fc.constant("m"), noise),
      role: fc.constantFrom("ROLE_USER", "user", 1, null),
      parts: fc.oneof({ weight: 5, arbitrary: fc.array(fc.oneof(part, noise), { maxLength: 3 }) }, noise),
      taskId: fc.oneof(fc.constant(""), noise),
      contextId: fc.oneof(fc.constantFrom("", "день", "c"), noise),
      metadata: noise,
    },
    { requiredKeys: ["messageId", "parts"] },
  );
  const params = fc.record(
    {
      message: fc.oneof({ weight: 5, arbitrary: message }, noise),
      configuration: fc.constantFrom(
        { returnImmediately: true, blocking: false },
        { taskPushNotificationConfig: { url: "https://x.example", token: "день" } },
        { pushNotificationConfig: { url: 7 } },
        null,
        7,
      ),
      url: noise,
      token: noise,
      pushNotificationConfig: noise,
      id: noise,
      pageSize: noise,
      pageToken: noise,
      status: noise,
      historyLength: noise,
      metadata: noise,
    },
    { requiredKeys: ["message"] },
  );
  const method = fc.constantFrom(
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "message/send",
    "message/stream",
    "tasks/get",
    "tasks/cancel",
    "tasks/resubscribe",
    "CreateTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "tasks/pushNotificationConfig/set",
    "tasks/pushNotificationConfig/delete",
    "nothing",
  );
  const call = fc.record({
    jsonrpc: fc.constantFrom("2.0", 2),
    id: fc.oneof(fc.integer(), noise),
    method,
    params: fc.oneof({ weight: 5, arbitrary: params }, noise),
  });
  const paths = fc.constantFrom(
    "",
    "/v1/message:send",
    "/v1/message:stream",
    "/v1/tasks/x:cancel",
    "/v1/tasks/x/pushNotificationConfigs",
  );
  const headers = fc.constantFrom<Record<string, string>>({ "a2a-version": "1.0" }, {});
  const agent = fc.constantFrom("echo", "ticker", "interviewer");
  await fc.assert(
    fc.asyncProperty(agent, paths, headers, fc.oneof(call, params, noise), async (name, path, head, body) => {
      const answer = await server.post(`/a2a/${name}${path}`, JSON.stringify(body), head);
      const text = await answer.text();
      expect({ text, isFault: answer.status >= 500 }).toEqual({ text, isFault: false });
      expect(text).not.toContain('"code":-32603');
    }),
    { numRuns: CASES },
  );
});
