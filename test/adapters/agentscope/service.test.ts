import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import * as agents from "./harness/agents.ts";
import { Gates } from "../gates.ts";
import { anyText, dataOf, textsOf } from "./harness/objects.ts";
import { approve, say, TestServer } from "./harness/server.ts";

async function submit(server: TestServer, body: object, agent = ""): Promise<string> {
  const answer = await server.post(`/agentscope${agent}/process/task`, body);
  expect(answer.status).toBe(200);
  const task = (await answer.json()) as { readonly task_id: string };
  expect(task).toEqual({
    task_id: anyText,
    status: "submitted",
    queue: anyText,
    message: anyText,
  });
  return task.task_id;
}

interface Task {
  readonly status: string;
  readonly result?: never;
}

async function read(server: TestServer, id: string, agent = ""): Promise<Task> {
  return (await (await server.get(`/agentscope${agent}/process/task/${id}`)).json()) as Task;
}

/** Waits for the end of a request. */
async function ended(server: TestServer, id: string): Promise<void> {
  await (await server.get(`/getevents/${id}?stream=true`)).text();
}

test("30: a task is submitted, runs, and has a result; one that waits behind it is pending", async () => {
  const gates = new Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)], { busy: "queue", durable: true });
  const first = await submit(server, say("go", { session_id: "s" }));
  const second = await submit(server, say("go", { session_id: "s" }));
  await (
    await server.openUrl("/agentscope/process/sessions/s/stream")
  ).until(({ object }) => object === "content");
  expect(await read(server, first)).toEqual({ status: "running" });
  expect(await read(server, second)).toEqual({ status: "pending" });
  gates.get("go").resolve();
  await ended(server, first);
  await ended(server, second);
  const task = await read(server, first);
  expect(task.status).toBe("finished");
  expect(task.result).toMatchObject({ object: "response", status: "completed", id: first, session_id: "s" });
  expect(textsOf(task.result as never)).toEqual(["one ", "two"]);
  await server.restart();
  expect(await read(server, first)).toEqual(task);
});

test("30: the task of a failed response is an error, and an unknown one is 404", async () => {
  await using server = await TestServer.start([echo, agents.thrower]);
  const id = await submit(server, say("go"), "/thrower");
  await ended(server, id);
  expect(await read(server, id, "/thrower")).toMatchObject({
    status: "error",
    result: { status: "failed", error: { code: "AGENT_ERROR" } },
  });
  for (const path of [
    "/process/task/nope",
    "/agentscope/process/task/nope",
    `/agentscope/echo/process/task/${id}`,
  ]) {
    const answer = await server.get(path);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ error: { code: "NOT_FOUND" } });
  }
});

test("a task that asks something is finished with the question, and with the rest after the answer", async () => {
  await using server = await TestServer.start([payments]);
  const id = await submit(server, say("pay 3 to bob", { session_id: "s" }));
  await ended(server, id);
  const asked = await read(server, id);
  expect(asked.status).toBe("finished");
  const [request] = dataOf(asked.result as never, "mcp_approval_request");
  const answer = approve({ approval_request_id: request?.["id"], approve: true }, { session_id: "s" });
  expect(await submit(server, answer)).toBe(id);
  await ended(server, id);
  expect(textsOf((await read(server, id)).result as never)).toEqual(["Paid 3 to bob."]);
});

test("32: a page of an allowed origin may send requests", async () => {
  const origin = "https://page.example";
  await using server = await TestServer.start([echo], {
    serve: { allowedOrigins: [origin], token: "secret" },
  });
  for (const path of ["/process", "/agentscope/process", "/agentscope/stop"]) {
    const answer = await fetch(server.url + path, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type, authorization",
      },
    });
    expect(answer.ok).toBe(true);
    expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
    const allowed = answer.headers.get("access-control-allow-headers")?.split(", ");
    expect(allowed).toEqual(expect.arrayContaining(["content-type", "authorization"]));
  }
  const sent = await server.post("/process", say("hello"), {
    headers: { origin, authorization: "Bearer secret" },
  });
  expect(sent.status).toBe(200);
  expect(sent.headers.get("access-control-allow-origin")).toBe(origin);
  await sent.text();
});

test("33: health, readiness and liveness are 200 without a token; the rest needs it", async () => {
  await using server = await TestServer.start([echo], { serve: { token: "secret" } });
  for (const base of ["", "/agentscope", "/agentscope/echo"]) {
    for (const probe of ["health", "readiness", "liveness"]) {
      const answer = await server.get(`${base}/${probe}`);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toEqual({ status: "healthy" });
    }
  }
  const refused = await server.post("/agentscope/process", say("hello"));
  expect(refused.status).toBe(401);
  expect(await refused.json()).toEqual({ error: { code: "UNAUTHORIZED", message: anyText } });
});

test("a task with the name of a health check is not shown without a token", async () => {
  await using server = await TestServer.start([echo], { serve: { token: "secret" } });
  for (const probe of ["health", "readiness", "liveness"]) {
    const headers = { authorization: "Bearer secret" };
    const request = { type: "ChatRequest", input: "hello", request_id: probe };
    const accepted = await server.post("/echo/process", request, { headers });
    expect(accepted.status).toBe(202);
    for (const base of ["", "/agentscope", "/agentscope/echo"]) {
      const path = `${base}/process/task/${probe}`;
      expect(await fetch(`${server.url}${path}`, { headers })).toMatchObject({ status: 200 });
      expect(await server.get(path)).toMatchObject({ status: 401 });
    }
  }
});

test("the adapter lists its agents and routes, and each route that it lists exists", async () => {
  await using server = await TestServer.start([echo, payments]);
  const list = (await (await server.get("/agentscope")).json()) as {
    readonly agents: readonly { readonly name: string; readonly path: string }[];
    readonly routes: readonly string[];
  };
  expect(list.agents).toEqual([
    { name: "echo", path: "/agentscope/echo" },
    { name: "payments", path: "/agentscope/payments" },
  ]);
  for (const { path } of list.agents) {
    for (const route of list.routes) {
      const [method = "", rest = ""] = route.split(" ");
      const answer = await fetch(`${server.url}${path}/${rest.replace(/\{\w+\}/, "x")}`, { method });
      expect(await answer.text()).not.toContain("there is no route");
    }
  }
});

test.each([
  ["GET", "/agentscope/nobody/process", 404],
  ["GET", "/agentscope/process", 405],
  ["DELETE", "/stop", 405],
  ["GET", "/agentscope/process/sessions/nobody/stream", 404],
])("%s %s is refused in the words of the protocol", async (method, path, status) => {
  await using server = await TestServer.start([echo]);
  const answer = await fetch(server.url + path, { method });
  expect(answer.status).toBe(status);
  expect(await answer.json()).toMatchObject({
    error: { code: status === 404 ? "NOT_FOUND" : "METHOD_NOT_ALLOWED" },
  });
});

test("an agent with the name of the adapter's path keeps the server from starting", async () => {
  const taken = { ...echo, name: "agentscope" };
  await expect(TestServer.start([taken])).rejects.toMatchObject({ code: "invalid_request" });
});
