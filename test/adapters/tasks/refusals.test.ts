import { defineAgent } from "troupe";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { refusal } from "./schemas.ts";
import { TestServer } from "./server.ts";

test.each([
  ["5: malformed JSON", "{", {}],
  ["5: a list", "[]", {}],
  ["5: null", "null", {}],
  ["5: another media type", "{}", { "content-type": "text/plain" }],
  ["6: an input that is no text", '{"input":1}', {}],
  ["6: an input that is an object", '{"input":{}}', {}],
  ["7: an additional_input that is a list", '{"additional_input":[]}', {}],
  ["7: an additional_input that is a text", '{"additional_input":"x"}', {}],
  [
    "an additional_input that is nested too deep",
    `{"additional_input":${'{"a":'.repeat(5_000)}1${"}".repeat(5_001)}`,
    {},
  ],
  ["an input with half of a surrogate pair", '{"input":"\\ud800"}', {}],
  ["a key with a meaning in JavaScript", '{"additional_input":{"__proto__":1}}', {}],
])("%s is 422, for tasks and steps", async (_, body, headers) => {
  await using server = await TestServer.start([echo]);
  const { task_id: id } = await server.createTask({ input: "hello" });
  for (const path of ["", `/${id}/steps`]) {
    const init = { headers: { "content-type": "application/json", ...headers } };
    expect((await server.post(path, body, init)).status).toBe(422);
  }
  expect((await server.task(id)).steps).toEqual([]);
  expect((await server.tasks()).pagination.total_items).toBe(1);
});

test("6 and 7: the message names every wrong field", async () => {
  await using server = await TestServer.start([echo]);
  const answer = await server.post("", { input: 1, additional_input: 2 });
  expect(await answer.json()).toEqual({
    message: "input must be a text; additional_input must be an object",
    errors: [
      { path: "input", message: "must be a text" },
      { path: "additional_input", message: "must be an object" },
    ],
  });
});

test.each(["0", "-1", "abc", "1.5", "", "1e3", "%2B1", "1&current_page=2&page_size=1&page_size=2"])(
  "8: a page of %s is 422, on every list",
  async (value) => {
    await using server = await TestServer.start([echo]);
    const { task_id: id } = await server.createTask();
    for (const path of ["", `/${id}/steps`, `/${id}/artifacts`]) {
      for (const name of ["current_page", "page_size"]) {
        expect((await server.get(`${path}?${name}=${value}`)).status).toBe(422);
      }
    }
  },
);

test.each([
  ["GET", "/ap/v1", 404],
  ["GET", "/ap/v1/agent/nothing", 404],
  ["GET", "/nobody/ap/v1/agent/tasks", 404],
  ["GET", "/ap/v1/agent/tasks/x/y", 404],
  ["DELETE", "/ap/v1/agent/tasks", 405],
  ["PUT", "/echo/ap/v1/agent/tasks/x/steps", 405],
])("%s %s is refused in the words of the protocol", async (method, path, status) => {
  await using server = await TestServer.start([echo]);
  const answer = await server.send(method, path);
  expect(answer.status).toBe(status);
  expect(answer.headers.get("allow")).toBe(status === 405 ? "GET, HEAD, POST" : null);
});

test("a body or file that is too large is 413, and a missing token 401", async () => {
  await using server = await TestServer.start([echo], {
    serve: { bodyLimitBytes: 1_000, fileLimitBytes: 1_000 },
  });
  expect((await server.post("", { input: "x".repeat(2_000) })).status).toBe(413);
  const { task_id: id } = await server.createTask();
  expect((await server.upload(id, { bytes: "x".repeat(2_000), name: "x" })).status).toBe(413);
  expect((await server.task(id)).artifacts).toEqual([]);
  await using guarded = await TestServer.start([echo], { serve: { token: "secret" } });
  expect((await guarded.get("")).status).toBe(401);
});

test("an unexpected error is 500 with a message and no internals", async () => {
  await using server = await TestServer.start([echo]);
  const runs = () => Promise.reject(new Error("disk /dev/secret is on fire"));
  const faulty = { ...server.runtime, runs };
  Object.defineProperty(server.runtime, "as", { value: () => faulty });
  const answer = await server.get("");
  expect(answer.status).toBe(500);
  const body = refusal.parse(await answer.json());
  expect(JSON.stringify(body)).not.toContain("fire");
});

test("an agent with the name of the adapter's path keeps the server from starting", async () => {
  const taken = defineAgent({ name: "ap", purpose: "Has a taken name.", chat: (input) => input });
  await expect(TestServer.start([taken])).rejects.toMatchObject({ code: "invalid_request" });
});
