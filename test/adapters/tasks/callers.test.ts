import { once } from "node:events";
import { request as send } from "node:http";
import type { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import { expect, test } from "vitest";
import { interviewer } from "../../../agents/interviewer.ts";
import { payments } from "../../../agents/payments.ts";
import * as agents from "./agents.ts";
import { Gates } from "../gates.ts";
import { ROOT, TestServer } from "./server.ts";

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
  const gates = new Gates();
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
  const gates = new Gates();
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

test("a server that stops answers a waiting caller with 503, and the turn continues", async () => {
  const gates = new Gates();
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
