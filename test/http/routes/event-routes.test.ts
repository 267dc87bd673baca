import { defineAgent } from "troupe";
import { expect, test } from "vitest";
import { bodyOf, post, start, startApp } from "../server.ts";
import type { App } from "../server.ts";

const idsOf = async (response: Response): Promise<number[]> =>
  ((await response.json()) as { id: number }[]).map(({ id }) => id);

async function run(app: App, input: string): Promise<{ run_id: string; request_id: string }> {
  const end = await post(app, "/echo/process?wait=completed", { input });
  return (await end.json()) as { run_id: string; request_id: string };
}

test("a poll without since gives each consumer its new events", async () => {
  await using server = await startApp();
  const { request_id: id } = await run(server.app, "one two");
  expect(await idsOf(await server.app.request(`/getevents/${id}`))).toEqual([1, 2, 3, 4]);
  expect(await idsOf(await server.app.request(`/getevents/${id}`))).toEqual([]);
  expect(await idsOf(await server.app.request(`/getevents/${id}?consumer=b`))).toEqual([1, 2, 3, 4]);
  expect(await idsOf(await server.app.request(`/getevents/${id}?since=2`))).toEqual([3, 4]);
  expect(await idsOf(await server.app.request(`/getevents/${id}?since=9`))).toEqual([]);
});

test("HEAD of a poll does not move the cursor", async () => {
  await using server = await startApp();
  const { request_id: id } = await run(server.app, "one");
  await server.app.request(`/getevents/${id}`, { method: "HEAD" });
  expect(await idsOf(await server.app.request(`/getevents/${id}`))).toEqual([1, 2, 3]);
});

test.each([
  "since=-1",
  "since=1.5",
  "since=",
  "since=1&since=2",
  "since=9007199254740993",
  "stream=perhaps",
  "follow=2",
  "timeout=soon",
  "timeout=-1",
  "max_depth=deep",
  "types=TextOutput,Song",
  `consumer=${"x".repeat(129)}`,
])("an invalid query is a 400 that names the field (%s)", async (query) => {
  await using server = await startApp();
  const { request_id: id } = await run(server.app, "one");
  const answer = await server.app.request(`/getevents/${id}?${query}`);
  expect(answer.status).toBe(400);
  expect(await bodyOf(answer)).toMatchObject({ errors: [{ path: query.split("=")[0] }] });
});

test("a history that is longer than one page links to the next one", async () => {
  await using server = await startApp();
  const repeat = { type: "OperationRequest", operation: "repeat", input: { text: "a", times: 1000 } };
  const { run_id: id } = await bodyOf(await post(server.app, "/echo/process?wait=completed", repeat));
  const first = await server.app.request(`/events/${String(id)}?since=0&agent=echo`);
  expect(await idsOf(first)).toHaveLength(1000);
  expect(first.headers.get("link")).toBe(`</events/${String(id)}?since=1000&agent=echo>; rel="next"`);
  const second = await server.app.request(`/events/${String(id)}?since=1000&agent=echo`);
  expect(await idsOf(second)).toEqual([1001, 1002]);
  expect(second.headers.has("link")).toBe(false);
});

test("a long poll waits for the first event, and is empty after its timeout", async () => {
  await using server = await startApp();
  const asks = await bodyOf(
    await post(server.app, "/payments/process?wait=completed", { input: "pay 3 to bob" }),
  );
  const path = `/getevents/${String(asks["request_id"])}?since=${String(asks["id"])}`;
  expect(await idsOf(await server.app.request(`${path}&timeout=10`))).toEqual([]);
  const long = server.app.request(`${path}&timeout=60000`);
  await post(server.app, "/payments/process", {
    type: "ResumeWithInput",
    request_id: asks["request_id"],
    request_keys: { approved: true },
  });
  expect((await idsOf(await long))[0]).toBe(Number(asks["id"]) + 1);
});

test("a long poll of an ended request does not wait; one of a run waits for the next turn", async () => {
  await using server = await startApp();
  const { request_id, run_id } = await run(server.app, "one");
  expect(await idsOf(await server.app.request(`/getevents/${request_id}?since=3&timeout=60000`))).toEqual([]);
  const long = server.app.request(`/getevents/${run_id}?since=3&timeout=60000`);
  await post(server.app, "/echo/process", { input: "two", run_id });
  expect((await idsOf(await long))[0]).toBe(4);
});

test("a long poll is answered when the server is about to stop", async () => {
  const stopping = new AbortController();
  await using server = await startApp({ signal: stopping.signal });
  const { request_id } = await start(server.app, "/ticker", "2 600000");
  const long = server.app.request(`/getevents/${request_id}?since=3&timeout=60000`);
  stopping.abort();
  expect(await idsOf(await long)).toEqual([]);
});

test("a stream starts after the greater of since and Last-Event-ID; a malformed header is ignored", async () => {
  await using server = await startApp();
  const { request_id: id } = await run(server.app, "one two");
  const framesOf = async (query: string, last: string): Promise<string[]> => {
    const headers = { "last-event-id": last };
    const answer = await server.app.request(`/getevents/${id}?stream=true${query}`, { headers });
    return [...(await answer.text()).matchAll(/^id: (\d+)$/gm)].map(([, at]) => String(at));
  };
  expect(await framesOf("", "2")).toEqual(["3", "4"]);
  expect(await framesOf("&since=1", "3")).toEqual(["4"]);
  expect(await framesOf("&since=3", "1")).toEqual(["4"]);
  expect(await framesOf("", "one")).toEqual(["1", "2", "3", "4"]);
  expect(await framesOf("", "-1")).toEqual(["1", "2", "3", "4"]);
});

test("a reader that has got events which the log does not have is refused, and not sent later ones", async () => {
  await using server = await startApp();
  const { request_id: id, run_id: runId } = await run(server.app, "one two");
  const headers = { "last-event-id": "5" };
  for (const path of [`/getevents/${id}?stream=true`, `/events/${runId}?stream=true&follow=true`]) {
    const answer = await server.app.request(path, { headers });
    expect(answer.status).toBe(409);
    expect(await answer.json()).toMatchObject({
      code: "conflict",
      detail: `run ${runId} has 4 events, and this reader has got event 5: the log has lost events`,
      hint: expect.stringContaining("since=0") as string,
    });
  }
});

test("a frame is an id line and one data line that is the event as it is polled", async () => {
  await using server = await startApp();
  const { request_id: id } = await run(server.app, "a\nb\u2028c");
  const streamed = await (await server.app.request(`/getevents/${id}?stream=1`)).text();
  const polled = await (await server.app.request(`/getevents/${id}?since=0`)).text();
  const frames = [...streamed.matchAll(/id: (\d+)\ndata: ([^\n]*)\n\n/g)];
  expect(`retry: 1000\n\n${frames.map(([frame]) => frame).join("")}`).toBe(streamed);
  expect(`[${frames.map(([, , data]) => data).join(",")}]\n`).toBe(polled);
});

test("a stream without any more events is a 204, which stops an EventSource", async () => {
  await using server = await startApp();
  const { request_id: id } = await run(server.app, "one");
  const answer = await server.app.request(`/getevents/${id}?stream=true`, {
    headers: { "last-event-id": "3" },
  });
  expect(answer.status).toBe(204);
  expect(await answer.text()).toBe("");
});

test("all ways to name a request or a run give the same events", async () => {
  await using server = await startApp();
  const { request_id, run_id } = await run(server.app, "one");
  for (const path of [
    `/getevents/${request_id}`,
    `/getevents?request_id=${request_id}`,
    `/events/${run_id}`,
    `/events?run_id=${run_id}`,
    `//getevents//${request_id}/`,
    `/echo/getevents/${run_id}`,
    `/echo//events?run_id=${run_id}`,
  ]) {
    const since = path.includes("?") ? "&since=0" : "?since=0";
    expect(await idsOf(await server.app.request(`http://localhost${path}${since}`))).toEqual([1, 2, 3]);
  }
});

test("requests and runs of another agent are unknown below an agent's path", async () => {
  await using server = await startApp();
  const { request_id, run_id } = await run(server.app, "one");
  for (const path of [`getevents/${request_id}`, `events/${run_id}`, `request/${request_id}`]) {
    expect((await server.app.request(`/payments/${path}`)).status).toBe(404);
  }
});

test.each(["..%2f..%2fetc%2fpasswd", "a%00b", "%0d%0aset-cookie:a", "x".repeat(129), "%C3%A4", "%ff"])(
  "%s is not a valid id",
  async (id) => {
    await using server = await startApp();
    for (const route of ["getevents", "events", "request", "artifacts"]) {
      expect((await server.app.request(`/${route}/${id}`)).status).toBe(400);
    }
    expect((await server.app.request(`/getevents?request_id=${id}&stream=true`)).status).toBe(400);
  },
);

test("a read without an id is a 400", async () => {
  await using server = await startApp();
  expect((await server.app.request("/getevents")).status).toBe(400);
});

test("HEAD of a stream returns its type and leaves no stream behind", async () => {
  await using server = await startApp({ streams: { limit: 1 } });
  const { request_id: id } = await start(server.app, "/ticker", "2 600000");
  for (let time = 0; time < 3; time += 1) {
    const answer = await server.app.request(`/getevents/${id}?stream=true`, { method: "HEAD" });
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    expect(await answer.text()).toBe("");
  }
});

test("the streams of one request are limited, and all streams together", async () => {
  await using server = await startApp({ streams: { limit: 3, limitEach: 2 } });
  const first = await start(server.app, "/ticker", "2 600000");
  const second = await start(server.app, "/ticker", "2 600000");
  const open = async ({ request_id: id }: { request_id: string }): Promise<Response> =>
    server.app.request(`/getevents/${id}?stream=true`);
  const streams = [await open(first), await open(first)];
  const tooMany = await open(first);
  expect([tooMany.status, tooMany.headers.get("retry-after")]).toEqual([429, "5"]);
  streams.push(await open(second));
  const full = await open(second);
  expect([full.status, full.headers.get("retry-after")]).toEqual([503, "5"]);
  const asked = await post(server.app, "/echo/stream_request", { input: "a", request_id: "never" });
  expect(asked.status).toBe(503);
  expect((await server.app.request("/request/never")).status).toBe(404);

  for (const stream of streams) await stream.body?.cancel();
  await expect.poll(async () => (await open(first)).status).toBe(200);
});

test("streams end when the server is about to stop, and no new one is opened", async () => {
  const stopping = new AbortController();
  await using server = await startApp({ signal: stopping.signal });
  const { request_id: id } = await start(server.app, "/ticker", "2 600000");
  const path = `/getevents/${id}?stream=true`;
  const open = await server.app.request(path);
  stopping.abort();
  expect(await open.text()).toMatch(/^retry: 1000\n\nid: 1\n[^]*\n\nretry: 1000\n\n$/);
  expect((await server.app.request(path)).status).toBe(503);
});

test("a reader in process that stops reading does not delay the turn, and gets everything when it continues", async () => {
  const flood = defineAgent({
    name: "flood",
    purpose: "Says a lot.",
    async chat(_, turn) {
      for (let said = 0; said < 400; said += 1) await turn.text("x".repeat(1_000));
      return "done";
    },
  });
  await using server = await startApp({}, [flood]);
  const answer = await post(server.app, "/flood/stream_request", { input: "", request_id: "mine" });
  await expect
    .poll(async () => (await bodyOf(await server.app.request("/request/mine")))["status"])
    .toBe("completed");
  const ids = [...(await answer.text()).matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  expect(ids).toEqual(Array.from({ length: 402 }, (_, index) => index + 1));
});
