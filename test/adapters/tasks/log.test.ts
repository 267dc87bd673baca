import { expect, test } from "vitest";
import { interviewer } from "../../../agents/interviewer.ts";
import * as agents from "./agents.ts";
import { Gates } from "../gates.ts";
import { answers, notFound, refusal } from "./schemas.ts";
import { TestServer } from "./server.ts";

/** All answers about the tasks of the default agent. */
async function everything(server: TestServer): Promise<unknown> {
  const list = await server.tasks();
  const all = [];
  for (const { task_id: id } of list.tasks) {
    const { artifacts } = await server.artifacts(id);
    const bytes = [];
    for (const { artifact_id } of artifacts) bytes.push(String(await server.bytes(id, artifact_id)));
    all.push({ task: await server.task(id), steps: await server.steps(id), artifacts, bytes });
  }
  return { list, all };
}

test("23: a restart changes no answer", { tags: "long" }, async () => {
  await using server = await TestServer.start([agents.publisher], { durable: true });
  const ended = await server.createTask({ input: "a", additional_input: { a: [1, null] } });
  await server.uploaded(ended.task_id, { bytes: "up", name: "ü.txt", folder: "in" });
  await server.step(ended.task_id);
  await server.step(ended.task_id, { input: "yes" });
  const waiting = await server.createTask({ input: "b" });
  await server.step(waiting.task_id);
  await server.createTask();
  const before = await everything(server);
  expect(JSON.stringify(before)).toContain("More?");
  await server.restart();
  expect(await everything(server)).toEqual(before);
  expect(await server.step(waiting.task_id, { input: "yes" })).toMatchObject({ is_last: true });
});

test("23: a task that waits for two answers is waiting after a restart between them", async () => {
  await using server = await TestServer.start([interviewer], { durable: true });
  const { task_id: id } = await server.createTask();
  await server.step(id);
  const second = await server.step(id, { additional_input: { name: "Ada" } });
  await server.restart();
  expect((await server.task(id)).steps?.at(-1)).toEqual(second);
  expect(await server.step(id, { input: "blue" })).toMatchObject({
    output: "Ada likes blue.",
    is_last: true,
  });
});

test("23: a step that a restart interrupts continues, and the next caller joins it", async () => {
  const gates = new Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)], { durable: true });
  const { task_id: id } = await server.createTask({ input: "go" });
  const posted = server.post(`/${id}/steps`).catch(() => undefined);
  await gates.get("begun").promise;
  const [running] = (await server.steps(id)).steps;
  await server.restart();
  await posted;
  const joined = server.step(id);
  gates.get("go").resolve();
  expect(await joined).toMatchObject({ step_id: running?.step_id, output: "one two", is_last: true });
});

test("25: the schemas refuse what the protocol does not allow", () => {
  const artifact = { artifact_id: "a", agent_created: true, file_name: "f", relative_path: null };
  const step = { step_id: "1", task_id: "t", status: "completed", is_last: true, artifacts: [artifact] };
  const task = { task_id: "t", artifacts: [], additional_input: {}, steps: [step] };
  const pagination = { total_items: 0, total_pages: 0, current_page: 1, page_size: 10 };
  expect(answers.getTask.safeParse(task).success).toBe(true);
  expect(answers.listTasks.safeParse({ tasks: [{ ...task, steps: undefined }], pagination }).success).toBe(
    true,
  );
  for (const wrong of [
    { ...task, additional_input: null },
    { ...task, artifacts: undefined },
    { ...task, steps: [{ ...step, status: "failed" }] },
    { ...task, steps: [{ ...step, additional_input: null }] },
    { ...task, steps: [{ ...step, is_last: undefined }] },
    { ...task, artifacts: [{ ...artifact, agent_created: undefined }] },
  ]) {
    expect(answers.getTask.safeParse(wrong).success).toBe(false);
  }
  expect(
    answers.listTasks.safeParse({ tasks: [], pagination: { ...pagination, page_size: "10" } }).success,
  ).toBe(false);
  expect(notFound.safeParse({ message: "x", code: "y" }).success).toBe(false);
  expect(refusal.safeParse({ error: "x" }).success).toBe(false);
});
