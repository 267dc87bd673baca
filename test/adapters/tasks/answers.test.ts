import { expect, test } from "vitest";
import { interviewer } from "../../../agents/interviewer.ts";
import * as agents from "./agents.ts";
import { TestServer } from "./server.ts";

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

test.each([40, 9_000])(
  "an answer of JSON that is %i levels deep is 422 and leaves the question open",
  async (depth) => {
    await using server = await TestServer.start([agents.publisher]);
    const { task_id: id } = await server.createTask();
    const asked = await server.step(id);
    const input = `{"more":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    expect((await server.post(`/${id}/steps`, { input })).status).toBe(422);
    expect((await server.steps(id)).steps).toEqual([asked]);
    expect(await server.step(id, { input: "yes" })).toMatchObject({ status: "completed", is_last: true });
  },
);
