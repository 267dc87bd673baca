import { once } from "node:events";
import { request as send } from "node:http";
import type { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import { expect, test } from "vitest";
import { interviewer } from "../../../agents/interviewer.ts";
import { payments } from "../../../agents/payments.ts";
import * as agents from "./agents.ts";
import { ROOT, TestServer } from "./server.ts";

/** The types of the events of a run, as the native protocol tells them. */
async function typesOf(server: TestServer, runId: string): Promise<string[]> {
  const events = (await server.native("GET", `/events/${runId}?since=0`)) as { readonly type: string }[];
  return events.map(({ type }) => type);
}

test("14: a step that runs is told as running, with its text so far, and then as completed", async () => {
  const gates = new agents.Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)]);
  const { task_id: id } = await server.createTask({ input: "go" });
  const posted = server.step(id);
  await gates.get("begun").promise;
  const [running] = (await server.steps(id)).steps;
  expect(running).toMatchObject({ task_id: id, status: "running", is_last: false, output: "one " });
  expect(await server.get(`/${id}/steps/${running?.step_id}`)).toHaveProperty("status", 200);
  gates.get("go").resolve();
  const step = await posted;
  expect(step).toMatchObject({ step_id: running?.step_id, status: "completed", is_last: true });
  expect(step.output).toBe("one two");
  expect((await server.task(id)).steps).toEqual([step]);
});

test("15: a step after the last one is the last one again, and the agent is not asked", async () => {
  await using server = await TestServer.start([agents.counter()]);
  const { task_id: id } = await server.createTask({ input: "go" });
  const first = await server.step(id);
  expect(first).toMatchObject({ is_last: true, output: "go 1" });
  expect(await server.step(id)).toEqual(first);
  expect(await server.step(id, { input: "more", additional_input: { a: 1 } })).toEqual(first);
  expect((await server.steps(id)).steps).toEqual([first]);
});

test("with again, a step of an ended task starts another turn", async () => {
  await using server = await TestServer.start([agents.counter()], { again: true });
  const { task_id: id } = await server.createTask({ input: "go" });
  const first = await server.step(id);
  const second = await server.step(id, { input: "more" });
  expect([first.output, second.output]).toEqual(["go 1", "more 2"]);
  expect(await server.step(id)).toMatchObject({ output: "go 3", is_last: true });
  const { steps } = await server.steps(id);
  expect(steps.map(({ is_last }) => is_last)).toEqual([false, false, true]);
});

test("16: a waiting task goes on in the same request with its next step", async () => {
  await using server = await TestServer.start([payments]);
  const { task_id: id } = await server.createTask({ input: "pay 30 to bob" });
  const asked = await server.step(id);
  expect(asked).toMatchObject({
    status: "completed",
    is_last: false,
    output: "Pay 30 to bob?",
    name: "chat",
  });
  const { request_id: requestId, wait_id: waitId } = asked.additional_output ?? {};
  expect(asked.additional_output).toMatchObject({
    request_keys: { approved: "Pay 30 to bob?" },
    waits: [{ wait_id: waitId, request_keys: { approved: "Pay 30 to bob?" } }],
  });
  const paid = await server.step(id, { input: "yes" });
  expect(paid).toMatchObject({
    is_last: true,
    output: "Paid 30 to bob.",
    input: "true",
  });
  expect(paid.additional_output).toEqual({ request_id: requestId, finish_reason: "success" });
  const types = await typesOf(server, id);
  expect(types.filter((type) => type === "RequestStarted")).toHaveLength(1);
  expect(types.filter((type) => type === "RequestCompleted")).toHaveLength(1);
  const { steps } = await server.steps(id);
  expect(steps).toEqual([asked, paid]);
});

test.each([
  [{ name: "Ada" }, { colour: "blue" }, "What is your favourite colour?"],
  [{ colour: "blue" }, { name: "Ada" }, "What is your name?"],
])("two open questions are answered in any order by their keys: %j first", async (first, second, left) => {
  await using server = await TestServer.start([interviewer]);
  const { task_id: id } = await server.createTask();
  const asked = await server.step(id);
  expect(asked.output).toBe("What is your name?");
  expect(asked.additional_output?.["waits"]).toMatchObject([
    { request_keys: { name: "What is your name?" } },
    { request_keys: { colour: "What is your favourite colour?" } },
  ]);
  const next = await server.step(id, { additional_input: first });
  expect(next).toMatchObject({ status: "completed", is_last: false, output: left });
  expect(next.additional_output?.["waits"]).toHaveLength(1);
  const last = await server.step(id, { additional_input: second });
  expect(last).toMatchObject({ is_last: true, output: "Ada likes blue." });
  expect((await server.steps(id)).steps).toEqual([asked, next, last]);
});

test("two open questions are answered by two texts, the oldest first, or by both keys in one step", async () => {
  await using server = await TestServer.start([interviewer]);
  const one = await server.createTask();
  await server.step(one.task_id);
  await server.step(one.task_id, { input: "Ada" });
  expect(await server.step(one.task_id, { input: "blue" })).toMatchObject({ output: "Ada likes blue." });
  const other = await server.createTask();
  await server.step(other.task_id);
  const both = { additional_input: { colour: "red", name: "Bob" } };
  expect(await server.step(other.task_id, both)).toMatchObject({ is_last: true, output: "Bob likes red." });
});

test("a text becomes the value that the question asks for", async () => {
  await using server = await TestServer.start([agents.typed]);
  const { task_id: id } = await server.createTask();
  await server.step(id);
  for (const text of ["3", "n", "3"]) await server.step(id, { input: text });
  expect((await server.task(id)).steps.at(-1)?.output).toBe('{"count":3,"sure":false,"note":"3"}');
});

test.each([
  ["nothing", {}],
  ["a text for two keys", { input: "Ada, 36" }],
  ["keys that are not asked for", { additional_input: { colour: "blue" } }],
  ["one of two keys", { additional_input: { name: "Ada" } }],
  ["a value of another type", { additional_input: { name: "Ada", age: "old" } }],
])("an answer that does not fit is 422, names the keys and leaves the question open: %s", async (_, body) => {
  await using server = await TestServer.start([agents.form]);
  const { task_id: id } = await server.createTask();
  const asked = await server.step(id);
  const refused = await server.post(`/${id}/steps`, body);
  expect(refused.status).toBe(422);
  expect(((await refused.json()) as { readonly message: string }).message).toContain("age");
  expect((await server.steps(id)).steps).toEqual([asked]);
  const answered = await server.step(id, { additional_input: { name: "Ada", age: 36 } });
  expect(answered.output).toBe("Ada is 36");
});

test("a turn that fails is a completed last step with its error", async () => {
  await using server = await TestServer.start([agents.thrower]);
  const { task_id: id } = await server.createTask({ input: "go" });
  const step = await server.step(id);
  expect(step).toMatchObject({ status: "completed", is_last: true, output: "so far" });
  expect(step.additional_output).toMatchObject({
    finish_reason: "error",
    error: { code: "agent_error", message: "it broke" },
  });
});

test("a canceled turn is a completed step", async () => {
  const gates = new agents.Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)]);
  const { task_id: id } = await server.createTask({ input: "go" });
  const posted = server.step(id);
  await gates.get("begun").promise;
  const [running] = (await server.steps(id)).steps;
  await server.native("POST", "/process", {
    type: "CancelRequest",
    request_id: running?.additional_output?.["request_id"],
  });
  expect(await posted).toMatchObject({
    status: "completed",
    is_last: true,
    output: "one ",
    additional_output: { finish_reason: "canceled" },
  });
});

test("a request that is canceled in the queue is a step of its own, and not the newest", async () => {
  const gates = new agents.Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)]);
  const { task_id: id } = await server.createTask({ input: "go" });
  const posted = server.step(id);
  await gates.get("begun").promise;
  const queued = { type: "ChatRequest", input: "later", run_id: id, request_id: "later", on_busy: "enqueue" };
  await server.native("POST", "/process", queued);
  await server.native("POST", "/process", { type: "CancelRequest", request_id: "later" });
  gates.get("go").resolve();
  const step = await posted;
  expect(step).toMatchObject({ is_last: true, output: "one two" });
  const { steps } = await server.steps(id);
  expect(
    steps.map(({ additional_output, is_last }) => [additional_output?.["finish_reason"], is_last]),
  ).toEqual([
    ["success", true],
    ["canceled", false],
  ]);
  expect(await server.step(id)).toEqual(step);
});

test("22: of two callers at the same time one starts the turn, and both get its step", async () => {
  await using server = await TestServer.start([agents.counter()]);
  const { task_id: id } = await server.createTask({ input: "go" });
  const [first, second] = await Promise.all([
    server.step(id, { input: "a" }),
    server.step(id, { input: "b" }),
  ]);
  expect(second).toEqual(first);
  expect(first.output).toMatch(/^[ab] 1$/);
  expect((await server.steps(id)).pagination.total_items).toBe(1);
});

test("22: of two answers at the same time one counts, and both callers get its step", async () => {
  await using server = await TestServer.start([interviewer]);
  const { task_id: id } = await server.createTask();
  await server.step(id);
  // The server has this caller, but not yet its body.
  const slow = send(`${server.url}${ROOT}/${id}/steps`, {
    method: "POST",
    headers: { "content-type": "application/json", expect: "100-continue" },
  });
  slow.flushHeaders();
  await once(slow, "continue");
  const first = await server.step(id, { input: "Ada" });
  expect(first.output).toBe("What is your favourite colour?");
  slow.end('{"input":"Ada"}');
  const [incoming] = (await once(slow, "response")) as [Readable];
  expect(await json(incoming)).toEqual(first);
  // A caller who comes after that is another one.
  expect(await server.step(id, { input: "blue" })).toMatchObject({ output: "Ada likes blue." });
});

test("22: a caller whose answer is refused does not act for the others", async () => {
  await using server = await TestServer.start([payments]);
  const { task_id: id } = await server.createTask({ input: "pay 30 to bob" });
  await server.step(id);
  const answers = await Promise.all(
    ["perhaps", "yes", "perhaps"].map((input) => server.post(`/${id}/steps`, { input })),
  );
  expect(answers[1]?.status).toBe(200);
  expect((await server.task(id)).steps.at(-1)?.output).toBe("Paid 30 to bob.");
});

test("22: a caller joins the turn that runs, also one that another protocol started", async () => {
  const gates = new agents.Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)]);
  const started = (await server.native("POST", "/process?wait=true", {
    type: "ChatRequest",
    input: "x",
  })) as {
    readonly run_id: string;
  };
  await gates.get("begun").promise;
  const callers = [server.step(started.run_id), server.step(started.run_id, { input: "y" })];
  // Both have joined when the task still runs after an answer of the same server.
  await server.task(started.run_id);
  gates.get("go").resolve();
  const [first, second] = await Promise.all(callers);
  expect(first).toMatchObject({ output: "one two", is_last: true });
  expect(second).toEqual(first);
  expect((await server.steps(started.run_id)).pagination.total_items).toBe(1);
});

test("a caller who joins the answer to one of two questions gets its step, although nothing is asked again", async () => {
  await using server = await TestServer.start([interviewer]);
  const { task_id: id } = await server.createTask();
  const asked = await server.step(id);
  const answer = {
    type: "ResumeWithInput",
    request_id: asked.additional_output?.["request_id"],
    wait_id: asked.additional_output?.["wait_id"],
    request_keys: { name: "Ada" },
  };
  await server.native("POST", "/process", answer);
  const { steps } = await server.steps(id);
  expect(steps).toHaveLength(2);
  expect(await server.step(id, { input: "blue" })).toMatchObject({ output: "Ada likes blue." });
});

test("a caller who disconnects changes nothing", async () => {
  const gates = new agents.Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)]);
  const { task_id: id } = await server.createTask({ input: "go" });
  const leaving = new AbortController();
  const posted = server.post(`/${id}/steps`, undefined, { signal: leaving.signal }).catch(() => "left");
  await gates.get("begun").promise;
  leaving.abort();
  expect(await posted).toBe("left");
  gates.get("go").resolve();
  expect(await server.step(id)).toMatchObject({ output: "one two", is_last: true });
});

test("a server that stops answers a waiting caller with 503, and the turn goes on", async () => {
  const gates = new agents.Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)]);
  const { task_id: id } = await server.createTask({ input: "go" });
  const posted = server.post(`/${id}/steps`);
  await gates.get("begun").promise;
  const closed = server.closeServer();
  expect((await posted).status).toBe(503);
  await closed;
  gates.get("go").resolve();
  const feed = await server.runtime.follow(await server.runtime.resolve(id), { after: 0 });
  const events: string[] = [];
  for await (const page of feed.pages) events.push(...page.events);
  expect(events.at(-1)).toContain('"finish_reason":"success"');
});

test("the agent gets the metadata of task and step, and the files that were uploaded since its last turn", async () => {
  await using server = await TestServer.start([agents.mirror], { again: true });
  const { task_id: id } = await server.createTask({ input: "go", additional_input: { a: 1, b: 1 } });
  await server.uploaded(id, { bytes: "one", name: "1.txt", folder: "in" });
  const first = await server.step(id, { additional_input: { b: 2 } });
  expect(JSON.parse(first.output ?? "")).toEqual({
    input: "go",
    metadata: { a: 1, b: 2 },
    files: [{ name: "in/1.txt", text: "one" }],
  });
  await server.uploaded(id, { bytes: "two", name: "2.txt" });
  const second = await server.step(id, { input: "on" });
  expect(JSON.parse(second.output ?? "")).toEqual({
    input: "on",
    metadata: { a: 1, b: 1 },
    files: [{ name: "2.txt", text: "two" }],
  });
});
