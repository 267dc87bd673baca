import { expect, test } from "vitest";
import { deaf, listener } from "../../runtime/messages/agents.ts";
import { bodyOf, post, startApp } from "../server.ts";

const note = { type: "Message", name: "note", body: "hello", key: "room" };

test("a message gets a 202 whose Location has its event", async () => {
  await using server = await startApp({}, [listener]);
  const answer = await post(server.app, "/listener/process", note);
  expect(answer.status).toBe(202);
  const { request_id: messageId } = await bodyOf(answer);
  expect(answer.headers.get("location")).toBe(`/listener/getevents/${String(messageId)}`);
  const events = await server.app.request(`/listener/getevents/${String(messageId)}?since=0`);
  expect(await events.json()).toMatchObject([
    { type: "MessageReceived", message_id: messageId, body: "hello" },
  ]);
  const stream = await server.app.request(`/listener/getevents/${String(messageId)}?stream=true`);
  expect((await stream.text()).match(/^data:/gm)).toHaveLength(1);
});

test.each([true, "completed"])("with wait=%s a message is answered with its event", async (wait) => {
  await using server = await startApp({}, [listener]);
  const answer = await post(server.app, `/listener/process?wait=${wait}`, note);
  expect(answer.status).toBe(200);
  expect(await bodyOf(answer)).toMatchObject({ type: "MessageReceived", request_id: null, name: "note" });
});

test("the full inbox of a run is 429 with Retry-After", async () => {
  await using server = await startApp({}, [listener]);
  for (let n = 0; n < 100; n += 1)
    expect((await post(server.app, "/listener/process", { ...note, body: String(n) })).status).toBe(202);
  const answer = await post(server.app, "/listener/process", note);
  expect(answer.status).toBe(429);
  expect(answer.headers.get("retry-after")).toBe("1");
  expect(await bodyOf(answer)).toMatchObject({ code: "overloaded" });
});

test("refusals name the field or the declared messages", async () => {
  await using server = await startApp({}, [listener, deaf]);
  const { key: _, ...homeless } = note;
  const refused = async (body: object): Promise<object> =>
    bodyOf(await post(server.app, "/listener/process", body));
  expect(await refused(homeless)).toMatchObject({ status: 400, errors: [{ path: "run_id" }] });
  expect(await refused({ ...note, key: "a b" })).toMatchObject({ status: 400, errors: [{ path: "key" }] });
  expect(await refused({ ...note, name: 5 })).toMatchObject({ status: 400, errors: [{ path: "name" }] });
  expect(await refused({ ...note, name: "other" })).toMatchObject({
    status: 422,
    messages: ["note", "count"],
    hint: "its messages: note, count",
  });
  expect(await refused({ ...note, name: "count", body: { n: "x" } })).toMatchObject({
    status: 422,
    errors: [{ path: "n" }],
  });
  const streamed = await post(server.app, "/listener/stream_request", note);
  expect(await bodyOf(streamed)).toMatchObject({ status: 400 });
});

test("the body can be null, which the schema judges, but not absent", async () => {
  await using server = await startApp({}, [listener]);
  const empty = await post(server.app, "/listener/process", { ...note, body: null });
  expect(await bodyOf(empty)).toMatchObject({ status: 422 });
  const { body: _, ...absent } = note;
  expect(await bodyOf(await post(server.app, "/listener/process", absent))).toMatchObject({
    status: 400,
    errors: [{ path: "body" }],
  });
});
