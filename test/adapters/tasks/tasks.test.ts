import { once } from "node:events";
import { Agent as HttpAgent, request as send } from "node:http";
import type { IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import * as agents from "./agents.ts";
import { answers } from "./schemas.ts";
import { ROOT, TestServer } from "./server.ts";

/** The operations on a task, with ids that may be unknown. */
const operations = (task: string, step: string, artifact: string): [string, string][] => [
  ["GET", `/${task}`],
  ["GET", `/${task}/steps`],
  ["POST", `/${task}/steps`],
  ["GET", `/${task}/steps/${step}`],
  ["GET", `/${task}/artifacts`],
  ["POST", `/${task}/artifacts`],
  ["GET", `/${task}/artifacts/${artifact}`],
];

test.each(["", "/echo/ap/v1/agent/tasks"])("1: all operations answer 200: %s", async (root) => {
  await using server = await TestServer.start([echo, payments]);
  const created = await server.createTask({ input: "hello", additional_input: { a: 1 } }, root);
  const { task_id: id } = created;
  expect(created).toEqual({
    task_id: id,
    input: "hello",
    additional_input: { a: 1 },
    artifacts: [],
    steps: [],
  });
  const uploaded = await server.upload(id, { bytes: "x", name: "x.txt" }, root);
  expect(uploaded.status).toBe(200);
  const artifact = answers.artifact.parse(await uploaded.json());
  const step = await server.step(id, undefined, root);
  expect(step).toMatchObject({ status: "completed", is_last: true, output: "hello", input: "hello" });
  expect(await server.task(id, root)).toEqual({ ...created, artifacts: [artifact], steps: [step] });
  const listed = { ...created, artifacts: [artifact], steps: undefined };
  expect((await server.tasks("", root)).tasks).toEqual([listed]);
  expect((await server.steps(id, "", root)).steps).toEqual([step]);
  expect(await (await server.get(`${root}/${id}/steps/${step.step_id}`)).json()).toEqual(step);
  expect((await server.artifacts(id, "", root)).artifacts).toEqual([artifact]);
  const file = await server.get(`${root}/${id}/artifacts/${artifact.artifact_id}`);
  expect([file.status, await file.text()]).toEqual([200, "x"]);
});

test("2: every operation on an unknown, removed or foreign task is 404 with a message", async () => {
  await using server = await TestServer.start([echo, payments]);
  const foreign = await server.createTask({}, "/payments/ap/v1/agent/tasks");
  const removed = await server.createTask();
  await server.runtime.removeRun(removed.task_id);
  for (const id of ["nope", "%2e%2e", "x".repeat(300), foreign.task_id, removed.task_id]) {
    for (const [method, path] of operations(id, "1", "a")) {
      const answer = await server.send(method, path);
      expect([method, path, answer.status]).toEqual([method, path, 404]);
    }
  }
});

test("3: an unknown step or artifact, and one of another task, is 404", async () => {
  await using server = await TestServer.start([agents.publisher]);
  const one = await server.createTask();
  await server.step(one.task_id);
  const other = await server.createTask();
  await server.step(other.task_id);
  await server.step(other.task_id, { input: "yes" });
  const { steps, artifacts } = await server.task(other.task_id);
  for (const step of ["nope", "0", "99", "1.0", "01", steps[1]?.step_id]) {
    expect((await server.get(`/${one.task_id}/steps/${step}`)).status).toBe(404);
  }
  for (const artifact of ["nope", artifacts[0]?.artifact_id]) {
    expect((await server.get(`/${one.task_id}/artifacts/${artifact}`)).status).toBe(404);
  }
});

test.each([
  ["no body", undefined],
  ["an empty object", "{}"],
  ["nulls", '{"input":null,"additional_input":null}'],
])("4: a task without input: %s", async (_, body) => {
  await using server = await TestServer.start([echo]);
  const answer = await server.post("", body);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ input: null, additional_input: {} });
});

test("9, 10 and 12: pages, their totals and the page beyond the end", async () => {
  await using server = await TestServer.start([echo]);
  const none = { total_items: 0, total_pages: 0, current_page: 1, page_size: 10 };
  expect(await server.tasks()).toEqual({ tasks: [], pagination: none });
  const ids: string[] = [];
  for (let count = 0; count < 5; count += 1) ids.push((await server.createTask()).task_id);
  const idsOn = async (query: string) => (await server.tasks(query)).tasks.map(({ task_id }) => task_id);
  expect(await idsOn("?page_size=2")).toEqual(ids.slice(0, 2));
  expect(await idsOn("?page_size=2&current_page=3")).toEqual(ids.slice(4));
  expect(await server.tasks("?page_size=2&current_page=4")).toEqual({
    tasks: [],
    pagination: { total_items: 5, total_pages: 3, current_page: 4, page_size: 2 },
  });
  expect((await server.tasks("?current_page=999999999999999&page_size=5")).pagination).toEqual({
    total_items: 5,
    total_pages: 1,
    current_page: 999_999_999_999_999,
    page_size: 5,
  });
  expect((await server.tasks("?page_size=1001")).pagination.page_size).toBe(1_000);
  expect((await server.steps(ids[0] ?? "")).pagination).toEqual(none);
  expect((await server.artifacts(ids[0] ?? "", "?current_page=7")).pagination.current_page).toBe(7);
});

test("steps and artifacts have pages too", async () => {
  await using server = await TestServer.start([agents.publisher]);
  const { task_id: id } = await server.createTask();
  await server.step(id);
  const last = await server.step(id, { input: "yes" });
  const { steps, pagination } = await server.steps(id, "?page_size=1&current_page=2");
  expect(steps).toEqual([last]);
  expect(pagination).toEqual({ total_items: 2, total_pages: 2, current_page: 2, page_size: 1 });
  const page = await server.artifacts(id, "?page_size=1&current_page=2");
  expect(page.artifacts).toEqual(last.artifacts);
});

test("11: pages neither repeat nor miss a task while others are created", async () => {
  await using server = await TestServer.start([echo], { durable: true });
  const before: string[] = [];
  for (let count = 0; count < 12; count += 1) before.push((await server.createTask()).task_id);
  const created: Promise<unknown>[] = [];
  const seen: string[] = [];
  for (let page = 1; page <= 4; page += 1) {
    created.push(...Array.from({ length: 5 }, () => server.createTask()));
    const { tasks } = await server.tasks(`?page_size=3&current_page=${page}`);
    seen.push(...tasks.map(({ task_id }) => task_id));
  }
  expect(seen).toEqual(before);
  await Promise.all(created);
  const all = (await server.tasks("?page_size=100")).tasks.map(({ task_id }) => task_id);
  expect(all.slice(0, 12)).toEqual(before);
  expect(new Set(all).size).toBe(32);
});

test("13: a task of another protocol has an object as additional_input, and a list of artifacts", async () => {
  await using server = await TestServer.start([echo, payments]);
  await server.native("POST", "/process?wait=completed", { type: "ChatRequest", input: "hi" });
  const pay = { type: "OperationRequest", operation: "pay", input: { to: "bob", amount: 3 } };
  await server.native("POST", "/payments/process?wait=completed", pay);
  const [chat] = (await server.tasks()).tasks;
  expect(chat).toMatchObject({ input: "hi", additional_input: {}, artifacts: [] });
  const root = "/payments/ap/v1/agent/tasks";
  const [call] = (await server.tasks("", root)).tasks;
  expect(call).toMatchObject({ input: '{"to":"bob","amount":3}' });
  const { steps } = await server.task(call?.task_id ?? "", root);
  expect(steps).toMatchObject([{ name: "pay", output: "Pay 3 to bob?", is_last: false }]);
});

test("21: a GET with a body is answered as one without, on the same connection", async () => {
  await using server = await TestServer.start([echo]);
  const { task_id: id } = await server.createTask();
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 });
  for (const path of ["", `/${id}`, `/${id}/steps`, `/${id}/artifacts`]) {
    const body = JSON.stringify({ filter: "x".repeat(10_000) });
    const headers = { "content-type": "application/json", "content-length": String(body.length) };
    const request = send(`${server.url}${ROOT}${path}`, { method: "GET", agent, headers });
    request.end(body);
    const [response] = (await once(request, "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    await json(response);
  }
  agent.destroy();
});

test("24: a task is a run of the native protocol, and a run of it is a task", async () => {
  await using server = await TestServer.start([echo]);
  const { task_id: id } = await server.createTask({ input: "hello" });
  await server.step(id);
  const run = { type: "ChatRequest", input: "hi", request_metadata: { from: "there" } };
  const other = (await server.native("POST", "/process?wait=completed", run)) as { readonly run_id: string };
  const runs = (await server.native("GET", "/runs")) as { readonly run_id: string }[];
  expect(runs.map(({ run_id }) => run_id).toSorted()).toEqual([id, other.run_id].toSorted());
  const { tasks } = await server.tasks();
  expect(tasks.map(({ task_id }) => task_id)).toEqual([id, other.run_id]);
  expect(tasks[1]).toMatchObject({ input: "hi", additional_input: { from: "there" } });
  expect(await server.step(other.run_id)).toMatchObject({ output: "hi", is_last: true });
});

test("24: a run that is created without a request has the input of its first one", async () => {
  await using server = await TestServer.start([echo]);
  const runId = await server.runtime.createRun("echo", { metadata: { a: 1 } });
  expect(await server.task(runId)).toMatchObject({ input: null, additional_input: { a: 1 }, steps: [] });
  await server.step(runId, { input: "now" });
  expect(await server.task(runId)).toMatchObject({ input: "now", additional_input: { a: 1 } });
});
