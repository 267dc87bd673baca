import { defineAgent } from "troupe";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { bodyOf, post, start, startApp } from "../server.ts";

const CHAT = { type: "ChatRequest", input: "hello there" };

/** Asks two questions; notes each answer, which a minimal level does not show, and repeats it. */
const asker = defineAgent({
  name: "asker",
  purpose: "Asks two questions at once.",
  async chat(_input, turn) {
    const ask = async (question: string): Promise<void> => {
      const { name } = await turn.waitForInput({ name: question });
      await turn.effect("note", () => {});
      await turn.text(JSON.stringify(name));
    };
    await Promise.all([ask("Who?"), ask("Who else?")]);
  },
});

test("an agent is described under its path, the default one at the root too", async () => {
  await using server = await startApp();
  const own = await bodyOf(await server.app.request("/echo/describe"));
  expect(own).toMatchObject({ name: "echo", purpose: expect.any(String) as string });
  expect(await bodyOf(await server.app.request("/describe"))).toEqual(own);
  expect(await bodyOf(await server.app.request("/payments/describe"))).toMatchObject({ name: "payments" });
});

test("a description lists exactly the endpoints below the agent's path", async () => {
  await using server = await startApp();
  const { endpoints } = await bodyOf(await server.app.request("/echo/describe"));
  expect(endpoints).toContain("process");
  const paths = (await bodyOf(await server.app.request("/openapi.json")))["paths"] as Record<string, object>;
  const served = Object.entries(paths).filter(([, item]) => !("servers" in item));
  expect(new Set(endpoints as string[])).toEqual(new Set(served.map(([path]) => path.split("/")[1])));
});

test("a repeated query field is refused, and no turn starts", async () => {
  await using server = await startApp();
  const answer = await post(server.app, "/echo/process?wait=true&wait=completed&other=1&other=2", CHAT);
  expect(answer.status).toBe(400);
  expect(await bodyOf(answer)).toMatchObject({ errors: [{ path: "wait" }] });
  expect(await (await server.app.request("/runs")).json()).toEqual([]);
  expect((await post(server.app, "/echo/process?wait=true&other=1&other=2", CHAT)).status).toBe(200);
});

test("wait=true answers with the RequestStarted", async () => {
  await using server = await startApp();
  const answer = await post(server.app, "/echo/process?wait=True", CHAT);
  expect(answer.status).toBe(200);
  expect(await bodyOf(answer)).toMatchObject({
    type: "RequestStarted",
    id: 1,
    agent: "echo",
    input: expect.anything() as unknown,
  });
});

test.each(["/echo", ""])(
  "without wait the answer is a 202 with the path of the events (%s)",
  async (path) => {
    await using server = await startApp();
    const answer = await post(server.app, `${path}/process`, CHAT);
    expect(answer.status).toBe(202);
    const { request_id: requestId, ...rest } = await bodyOf(answer);
    expect(rest).toEqual({ run_id: expect.stringMatching(/^run_/) as string });
    expect(answer.headers.get("location")).toBe(`${path}/getevents/${String(requestId)}`);
    const events = await server.app.request(`${answer.headers.get("location")}?stream=true`);
    expect(await events.text()).toContain('"type":"RequestCompleted"');
  },
);

test("wait=completed answers with the end, or with the open question", async () => {
  await using server = await startApp();
  const ended = await post(server.app, "/echo/process?wait=completed", CHAT);
  expect(await bodyOf(ended)).toMatchObject({ type: "RequestCompleted", result: "hello there" });
  const asks = await post(server.app, "/payments/process", { input: "pay 3 to bob", wait: "completed" });
  expect(asks.status).toBe(200);
  expect(await bodyOf(asks)).toMatchObject({ type: "WaitForInput" });
});

test("a wait for the end that exceeds wait_ms gets the 202, and the turn continues", async () => {
  await using server = await startApp();
  const answer = await post(server.app, "/ticker/process", {
    input: "2 600000",
    wait: "completed",
    wait_ms: 20,
  });
  expect(answer.status).toBe(202);
  const { request_id: requestId } = await bodyOf(answer);
  expect(await bodyOf(await server.app.request(`/request/${String(requestId)}`))).toMatchObject({
    status: "running",
  });
});

test("waiting requests are answered when the server is about to stop", async () => {
  const stopping = new AbortController();
  await using server = await startApp({ signal: stopping.signal });
  const asked = post(server.app, "/ticker/process", { input: "2 600000", wait: "completed" });
  stopping.abort();
  expect((await asked).status).toBe(202);
});

test("a repeated request gets the first answer with Idempotent-Replayed", async () => {
  await using server = await startApp();
  const request = { ...CHAT, request_id: "mine" };
  const first = await post(server.app, "/echo/process?wait=completed", request);
  const again = await post(server.app, "/echo/process?wait=completed", request);
  const unwaited = await post(server.app, "/echo/process", request);
  const replayed = [first, again, unwaited].map(({ headers }) => headers.get("idempotent-replayed"));
  expect(replayed).toEqual([null, "true", "true"]);
  expect(await again.text()).toBe(await first.text());
  expect((await post(server.app, "/echo/process", { ...request, input: "else" })).status).toBe(409);
});

test("a configuration is answered by its completion, or by a 202 without a location", async () => {
  await using server = await startApp();
  const configure = { type: "ConfigureRequest", args: { tone: "dry" } };
  const completed = await post(server.app, "/echo/process?wait=true", configure);
  expect(await bodyOf(completed)).toMatchObject({ type: "RequestCompleted", id: 0, run_id: null });
  const accepted = await post(server.app, "/echo/configure", { args: { tone: "dry" } });
  expect(accepted.status).toBe(202);
  expect(accepted.headers.has("location")).toBe(false);
  expect((await post(server.app, "/echo/configure", CHAT)).status).toBe(400);
});

test("a stream of a request starts with its start and ends with its end", async () => {
  await using server = await startApp();
  const answer = await post(server.app, "/echo/stream_request", { ...CHAT, request_id: "mine" });
  expect(answer.headers.get("content-type")).toBe("text/event-stream");
  const types = [...(await answer.text()).matchAll(/"type":"(\w+)"/g)].map(([, type]) => type);
  expect(types).toEqual(["RequestStarted", "TextOutput", "TextOutput", "RequestCompleted"]);
  const again = await post(server.app, "/echo/stream_request", { ...CHAT, request_id: "mine" });
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(await again.text()).toContain('"type":"RequestCompleted"');
});

test("the stream of an answer starts with the answer", async () => {
  await using server = await startApp();
  const asks = await bodyOf(
    await post(server.app, "/payments/process?wait=completed", { input: "pay 3 to bob" }),
  );
  const resume = {
    type: "ResumeWithInput",
    request_id: asks["request_id"],
    request_keys: { approved: true },
  };
  const answer = await post(server.app, "/payments/stream_request", resume);
  const text = await answer.text();
  expect(text).toMatch(/^retry: 1000\n\nid: \d+\ndata: \{.*"type":"ResumeWithInput"/);
  expect(text).toContain('"type":"RequestCompleted"');
});

test("the stream of an answer has the events up to the older question that is still open, at the request's level", async () => {
  await using server = await startApp({}, [asker]);
  const chat = { input: "", logging_level: "minimal" };
  const { request_id } = await bodyOf(await post(server.app, "/asker/process?wait=completed", chat));
  const answer = async (wait_id: number, headers = {}): Promise<Response> => {
    const request_keys = { name: "Ada" };
    const resume = {
      type: "ResumeWithInput",
      request_id,
      wait_id,
      request_keys,
      resume_id: `res_${wait_id}`,
    };
    return post(server.app, "/asker/stream_request", resume, headers);
  };
  const first = await framesOf(await answer(3));
  expect(first).toEqual(["4 ResumeWithInput", "7 TextOutput"]);
  expect(await framesOf(await answer(3))).toEqual(first);
  expect(await framesOf(await answer(3, { "last-event-id": "4" }))).toEqual(["7 TextOutput"]);
  expect(await framesOf(await answer(2))).toEqual([
    "8 ResumeWithInput",
    "11 TextOutput",
    "12 RequestCompleted",
  ]);
  expect((await answer(2, { "last-event-id": "12" })).status).toBe(204);
});

test("stream_request refuses a reader that has got events which the log does not have", async () => {
  await using server = await startApp();
  const body = { input: "2 600000", request_id: "mine" };
  const { run_id } = await bodyOf(await post(server.app, "/ticker/process?wait=true", body));
  const answer = await post(server.app, "/ticker/stream_request", body, { "last-event-id": "999" });
  expect(answer.status).toBe(409);
  expect(await bodyOf(answer)).toMatchObject({
    code: "conflict",
    detail: expect.stringContaining(`run ${String(run_id)} has `) as string,
  });
});

test("an answer of a reader that has got events which the log does not have is refused and not logged", async () => {
  await using server = await startApp();
  const asks = await bodyOf(
    await post(server.app, "/payments/process?wait=completed", { input: "pay 3 to bob", key: "bob" }),
  );
  const { request_id, run_id } = asks;
  for (const place of [{ request_id }, { run_id }, { key: "bob" }]) {
    const resume = { type: "ResumeWithInput", ...place, request_keys: { approved: true } };
    const headers = { "last-event-id": "999" };
    expect((await post(server.app, "/payments/stream_request", resume, headers)).status).toBe(409);
  }
  const status = await bodyOf(await server.app.request(`/request/${String(request_id)}`));
  expect(status).toMatchObject({ status: "waiting", last_event_id: asks["id"] });
});

test.each([
  ["a cancel", { type: "CancelRequest", request_id: "mine" }, 400],
  ["a configuration", { type: "ConfigureRequest", args: {} }, 400],
  ["an answer to an unknown request", { type: "ResumeWithInput", request_id: "mine", request_keys: {} }, 404],
  ["a chat of an unknown run", { ...CHAT, run_id: "run_none" }, 404],
])("stream_request refuses %s before any frame", async (_, body, status) => {
  await using server = await startApp();
  const answer = await post(server.app, "/echo/stream_request", body);
  expect(answer.status).toBe(status);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
});

test("the cancel of an ended request returns its end, with or without wait", async () => {
  await using server = await startApp();
  const end = await (
    await post(server.app, "/echo/process?wait=completed", { ...CHAT, request_id: "mine" })
  ).text();
  for (const query of ["", "?wait=true"]) {
    const answer = await post(server.app, `/echo/process${query}`, {
      type: "CancelRequest",
      request_id: "mine",
    });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe(end);
  }
});

test("a cancel without wait is a 202, and ends a running turn", async () => {
  await using server = await startApp();
  const { request_id } = await start(server.app, "/ticker", "2 600000");
  const answer = await post(server.app, "/ticker/process", { type: "CancelRequest", request_id });
  expect(answer.status).toBe(202);
  const events = await (await server.app.request(`/getevents/${request_id}?since=0`)).text();
  expect(events).toContain('"finish_reason":"canceled"');
});

test.each([
  ["text", '{"type":"ChatRequest","input":"a"}', "text/plain", 415],
  ["JSON without a type", '{"type":"ChatRequest","input":"a"}', "", 415],
  ["a form", "input=a", "application/x-www-form-urlencoded", 415],
  ["another charset", "{}", "application/json; charset=latin1", 415],
  ["nothing", "", "application/json", 400],
  ["half of it", '{"type":', "application/json", 400],
  ["a byte order mark", '\uFEFF{"type":"ChatRequest","input":"a"}', "application/json", 400],
  ["bytes that are no UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "application/json", 400],
  ["a list", "[]", "application/json", 400],
  ["too much", JSON.stringify({ input: "a".repeat(1_048_577) }), "application/json", 413],
  ["charset in capitals", '{"input":"a"}', "application/json; charset=UTF-8", 202],
])("a body that is %s", async (_, body, type, status) => {
  await using server = await startApp();
  const headers = new Headers(type === "" ? {} : { "content-type": type });
  const answer = await server.app.request("/echo/process", {
    method: "POST",
    headers,
    body: Buffer.from(body),
  });
  expect(answer.status).toBe(status);
});

test("a compressed body is refused", async () => {
  await using server = await startApp();
  expect((await post(server.app, "/echo/process", CHAT, { "content-encoding": "gzip" })).status).toBe(415);
});

test("keys like __proto__ are refused and change nothing", async () => {
  await using server = await startApp();
  const body = '{"type":"ChatRequest","input":"a","request_metadata":{"__proto__":{"polluted":true}}}';
  const headers = { "content-type": "application/json" };
  const answer = await server.app.request("/echo/process", { method: "POST", headers, body });
  expect(answer.status).toBe(400);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test("a body that does not fit gives the path of the fault", async () => {
  await using server = await startApp();
  const request = { type: "OperationRequest", operation: "repeat", input: { text: "a", times: "many" } };
  const answer = await post(server.app, "/echo/process", request);
  expect(answer.status).toBe(422);
  expect(await bodyOf(answer)).toMatchObject({
    errors: [{ path: expect.stringContaining("times") as string }],
  });
});

test("an agent can have any valid name, also one like a JavaScript property", async () => {
  const named = defineAgent({ name: "constructor", purpose: "Has a name.", chat: () => "hello" });
  await using server = await startApp({}, [echo, named]);
  const answer = await post(server.app, "/constructor/process?wait=completed", CHAT);
  expect(await bodyOf(answer)).toMatchObject({ result: "hello" });
});

/** The ids and types of the events of a stream. */
async function framesOf(answer: Response): Promise<readonly string[]> {
  const frames = (await answer.text()).matchAll(/^id: (\d+)\ndata: .*"type":"(\w+)"/gm);
  return [...frames].map(([, id, type]) => `${id} ${type}`);
}
