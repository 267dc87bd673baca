import { expect, test } from "vitest";
import { payments } from "../../../agents/payments.ts";
import * as agents from "./agents.ts";
import { Gates } from "../gates.ts";
import { TestServer } from "./server.ts";

/** The types of the events of a run, over the native protocol. */
async function typesOf(server: TestServer, runId: string): Promise<string[]> {
  const events = (await server.native("GET", `/events/${runId}?since=0`)) as { readonly type: string }[];
  return events.map(({ type }) => type);
}

test("14: a step is running, with its text so far, and then completed", async () => {
  const gates = new Gates();
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

test("16: a waiting task continues in the same request with its next step", async () => {
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
  const gates = new Gates();
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
  const gates = new Gates();
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
