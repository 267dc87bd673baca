import { expect, test } from "vitest";
import { notebook } from "../../../agents/notebook.ts";
import { echo } from "../../../agents/echo.ts";
import * as agents from "./harness/agents.ts";
import { Gates } from "../gates.ts";
import { AnswerStream } from "./harness/answer-stream.ts";
import {
  anyNumber,
  anyText,
  checkResponse,
  lastOf,
  responsesOf,
  textsOf,
  unnumbered,
} from "./harness/objects.ts";
import { say, TestServer } from "./harness/server.ts";
import { show, shownTexts } from "./harness/web-ui.ts";

/** Opens the stream of a session when it has a response. */
async function watch(server: TestServer, session: string): Promise<AnswerStream> {
  const path = `/agentscope/process/sessions/${session}/stream`;
  for (;;) {
    const answer = await server.get(path);
    if (answer.status === 200) return AnswerStream.of(answer);
    await answer.text();
  }
}

test("13: requests without a session are independent, so both complete", async () => {
  const gates = new Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)]);
  const streams = await Promise.all([server.open(say("go")), server.open(say("go"))]);
  await Promise.all(streams.map((stream) => stream.until(({ object }) => object === "content")));
  gates.get("go").resolve();
  const ends = (await Promise.all(streams.map((stream) => stream.all()))).map(lastOf);
  expect(ends.map(({ status }) => status)).toEqual(["completed", "completed"]);
  expect(ends[0]?.session_id).not.toBe(ends[1]?.session_id);
});

test("14: a request to a busy session is 409, or waits for its turn", async () => {
  const gates = new Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)]);
  const body = say("go", { session_id: "s" });
  const stream = await server.open(body);
  await stream.until(({ object }) => object === "content");
  const refused = await server.post("/agentscope/process", body);
  expect(refused.status).toBe(409);
  expect(refused.headers.get("content-type")).toBe("application/json");
  expect(await refused.json()).toEqual({ error: { code: "CONFLICT", message: anyText } });

  await using other = await TestServer.start([agents.gatedAgent(gates)], { busy: "queue" });
  const first = await other.open(body);
  await first.until(({ object }) => object === "content");
  const second = await other.open(body);
  gates.get("go").resolve();
  expect(lastOf(await first.all()).status).toBe("completed");
  const objects = await second.all();
  checkResponse(objects);
  expect(textsOf(lastOf(objects))).toEqual(["one ", "two"]);
  await stream.all();
});

test("a request to a session with a full queue is 429", async () => {
  const gates = new Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)], { busy: "queue" });
  const body = say("go", { session_id: "s" });
  const first = await server.open(body);
  await first.until(({ object }) => object === "content");
  const answers = [];
  for (let count = 0; count < 9; count += 1)
    answers.push(await server.post("/agentscope/process/task", body));
  expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 8 }, () => 200), 429]);
  expect(await answers[8]?.json()).toEqual({ error: { code: "OVERLOADED", message: anyText } });
  expect(answers[8]?.headers.get("retry-after")).toBe("1");
  await server.post("/agentscope/stop", { session_id: "s" });
  await first.all();
});

test("15: a stop ends the stream as canceled with its text until then, and frees the session", async () => {
  await using server = await TestServer.start([agents.gatedAgent(new Gates())]);
  const body = say("go", { session_id: "s", user_id: "u" });
  const stream = await server.open(body);
  await stream.until(({ object }) => object === "content");
  const stopped = await server.post("/agentscope/stop", { input: [], session_id: "s", user_id: "u" });
  expect(stopped.status).toBe(200);
  expect(await stopped.json()).toEqual({ status: "success", message: anyText });
  const objects = await stream.all();
  checkResponse(objects);
  expect(lastOf(objects)).toMatchObject({ status: "canceled", completed_at: anyNumber });
  expect(textsOf(lastOf(objects))).toEqual(["one "]);
  const again = await server.open(body);
  await again.until(({ object }) => object === "content");
  await server.post("/agentscope/stop", { session_id: "s", user_id: "u" });
  await again.all();
});

test("a stop also ends the requests that wait for their turn", async () => {
  await using server = await TestServer.start([agents.gatedAgent(new Gates())], { busy: "queue" });
  const body = say("go", { session_id: "s" });
  const first = await server.open(body);
  await first.until(({ object }) => object === "content");
  const task = (await (await server.post("/agentscope/process/task", body)).json()) as { task_id: string };
  await server.post("/agentscope/stop", { session_id: "s" });
  expect(lastOf(await first.all()).status).toBe("canceled");
  expect(await (await server.get(`/agentscope/process/task/${task.task_id}`)).json()).toMatchObject({
    status: "finished",
    result: { status: "canceled" },
  });
});

test("a request that is canceled while it waits for its turn hides nothing of the one that runs", async () => {
  const gates = new Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)], { busy: "queue" });
  const body = say("go", { session_id: "s" });
  const first = await server.open(body);
  await first.until(({ object }) => object === "content");
  const queued = { ...body, id: "second" };
  await server.post("/agentscope/process/task", queued);
  await server.post("/process?wait=true", { type: "CancelRequest", request_id: "second" });
  const again = await server.openUrl("/agentscope/process/sessions/s/stream");
  expect(await again.until(({ object }) => object === "content")).toMatchObject({ text: "one " });
  await server.post("/agentscope/stop", { session_id: "s" });
  const objects = await first.all();
  expect(lastOf(objects).status).toBe("canceled");
  expect(await again.all()).toEqual(objects);
});

test("16: a stop of an idle or unknown session is 200, creates nothing and has no later effect", async () => {
  await using server = await TestServer.start([echo]);
  const before = (await server.runtime.runs({ limit: 10 })).runs.length;
  const stopped = await server.post("/agentscope/stop", { sessionId: "s" });
  expect(stopped.status).toBe(200);
  expect((await server.runtime.runs({ limit: 10 })).runs).toHaveLength(before);
  const objects = await (await server.open(say("hello", { session_id: "s" }))).all();
  expect(lastOf(objects).status).toBe("completed");
  expect((await server.post("/agentscope/stop", { session_id: "s" })).status).toBe(200);
  expect(lastOf(await (await server.open(say("hi", { session_id: "s" }))).all()).status).toBe("completed");
});

test("17: a client that disconnects leaves the request running, or cancels it if the server is configured so", async () => {
  const gates = new Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)]);
  const leave = async (at: TestServer) => {
    const client = new AbortController();
    const body = say("go", { id: "r", session_id: "s" });
    const stream = await at.open(body, "/agentscope/process", { signal: client.signal });
    await stream.until(({ object }) => object === "content");
    client.abort();
  };
  await leave(server);
  gates.get("go").resolve();
  const receipt = await (await server.openUrl("/agentscope/process/sessions/s/stream")).all();
  expect(textsOf(lastOf(receipt))).toEqual(["one ", "two"]);

  await using other = await TestServer.start([agents.gatedAgent(new Gates())], {
    disconnect: "cancel",
  });
  await leave(other);
  const objects = await (await other.openUrl("/agentscope/process/sessions/s/stream")).all();
  expect(lastOf(objects)).toMatchObject({ status: "canceled", id: "r" });

  const client = new AbortController();
  const body = say("go", { id: "r2", session_id: "t", stream: false });
  const asked = other.post("/agentscope/process", body, { signal: client.signal });
  await (await watch(other, "t")).until(({ object }) => object === "content");
  client.abort();
  await expect(asked).rejects.toThrow(/aborted/);
  const second = await (await other.openUrl("/agentscope/process/sessions/t/stream")).all();
  expect(lastOf(second).status).toBe("canceled");
});

test("a reader that only watches a session cancels nothing when it leaves", async () => {
  const gates = new Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)], { disconnect: "cancel" });
  const stream = await server.open(say("go", { session_id: "s" }));
  await stream.until(({ object }) => object === "content");
  const watcher = new AbortController();
  const path = `${server.url}/agentscope/process/sessions/s/stream`;
  await (await fetch(path, { signal: watcher.signal })).body?.getReader().read();
  watcher.abort();
  gates.get("go").resolve();
  expect(lastOf(await stream.all()).status).toBe("completed");
});

test("two first requests of a session at once share its run", async () => {
  await using server = await TestServer.start([notebook], { busy: "queue" });
  const bodies = ["a", "b"].map((text) => say(text, { session_id: "s", user_id: "u" }));
  const streams = await Promise.all(bodies.map((body) => server.open(body)));
  const texts = await Promise.all(
    streams.map(async (stream) => textsOf(lastOf(await stream.all())).join("")),
  );
  expect(texts.map((text) => text.split("\n").length).toSorted((a, b) => a - b)).toEqual([1, 2]);
  expect((await server.runtime.runs({ limit: 10 })).runs).toHaveLength(1);
});

test("the session of a removed run begins anew", async () => {
  await using server = await TestServer.start([notebook]);
  const note = async (text: string) =>
    textsOf(lastOf(await (await server.open(say(text, { session_id: "s" }))).all())).join("");
  expect(await note("a")).toBe("1. a");
  const [run] = (await server.runtime.runs({ limit: 1 })).runs;
  await server.runtime.removeRun(run?.run_id ?? "");
  expect((await server.get("/agentscope/process/sessions/s/stream")).status).toBe(404);
  expect(await note("b")).toBe("1. b");
});

test("19: without streaming the answer is the last object of the stream", async () => {
  await using server = await TestServer.start([agents.thinker]);
  const answer = await server.post("/agentscope/process", say("Oslo?", { session_id: "s", stream: false }));
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/json");
  const twin = lastOf(await (await server.openUrl("/agentscope/process/sessions/s/stream")).all());
  expect(unnumbered(await answer.json())).toEqual(unnumbered(twin));
});

test("20: a session remembers, and is that of one user", async () => {
  await using server = await TestServer.start([notebook]);
  const note = async (text: string, more: object) =>
    textsOf(lastOf(await (await server.open(say(text, more))).all())).join("");
  expect(await note("a", { session_id: "s", user_id: "ada" })).toBe("1. a");
  expect(await note("b", { session_id: "s", user_id: "ada" })).toBe("1. a\n2. b");
  expect(await note("c", { session_id: "s", user_id: "bob" })).toBe("1. c");
  expect(await note("d", { session_id: "s" })).toBe("1. d");
  expect(await note("e", { sessionId: "s", userId: "s" })).toBe("1. d\n2. e");
});

test("names of users and sessions can have any letters, and never collide", async () => {
  await using server = await TestServer.start([notebook]);
  const names = [
    { session_id: "a:b", user_id: "c" },
    { session_id: "b", user_id: "c:a" },
    { session_id: "Gespräch 1", user_id: "名前" },
    { session_id: "@Zg", user_id: "f" },
    { session_id: "f", user_id: "f" },
    { session_id: "f", user_id: "@Zg" },
    { session_id: "会".repeat(30), user_id: "f" },
    { session_id: "会".repeat(31), user_id: "f" },
    { session_id: "s".repeat(200) },
  ];
  for (const name of names) {
    const objects = await (await server.open(say("x", name))).all();
    expect(textsOf(lastOf(objects))).toEqual(["1. x"]);
    expect(lastOf(objects).session_id).toBe(name.session_id);
  }
  const again = await (await server.open(say("y", { session_id: "会".repeat(30), user_id: "f" }))).all();
  expect(textsOf(lastOf(again))).toEqual(["1. x\n2. y"]);
});

test("a session that the server named is found again by that name, for its user only", async () => {
  await using server = await TestServer.start([notebook]);
  const note = async (text: string, more: object) => lastOf(await (await server.open(say(text, more))).all());
  const { session_id: mine } = await note("a", {});
  expect(textsOf(await note("b", { session_id: mine }))).toEqual(["1. a\n2. b"]);
  const { session_id: hers } = await note("a", { user_id: "ada" });
  expect(textsOf(await note("b", { session_id: hers, user_id: "ada" }))).toEqual(["1. a\n2. b"]);
  expect(textsOf(await note("c", { session_id: hers, user_id: "bob" }))).toEqual(["1. c"]);
});

test("the same request twice is one turn, with files too", async () => {
  await using server = await TestServer.start([agents.mirror]);
  const image = { type: "image", image_url: "data:image/png;base64,cG5n" };
  const bodies = [
    say("go", { id: "r1", session_id: "s" }),
    { id: "r2", session_id: "t", input: [{ content: [image] }] },
  ];
  for (const body of bodies) {
    const first = await (await server.open(body)).all();
    expect(await (await server.open(body)).all()).toEqual(first);
  }
  const other = await server.post("/agentscope/process", say("stay", { id: "r1", session_id: "s" }));
  expect(other.status).toBe(409);
  await (await server.open(say("hello", { session_id: "mine" }))).all();
  for (const body of bodies) {
    for (const session_id of ["mine", "new"]) {
      expect((await server.post("/agentscope/process", { ...body, session_id })).status).toBe(409);
    }
  }
});

test(
  "31: a reader that comes back after a sequence number ends with the same as one that stayed",
  { tags: "long" },
  async () => {
    await using server = await TestServer.start([agents.thinker], { durable: true });
    const objects = await (await server.open(say("Oslo?", { session_id: "s", user_id: "u" }))).all();
    const whole = show(objects);
    expect(shownTexts(whole)).toEqual(["Hm.", "I ask. ", "It is 4 degrees."]);
    for (let count = 0; count <= objects.length; count += 1) {
      const seen = objects.slice(0, count);
      const path = `/agentscope/process/sessions/s/stream?user_id=u${count === 0 ? "" : `&after=${count - 1}`}`;
      const rest = await (await server.openUrl(path)).all();
      expect(rest).toEqual(objects.slice(count));
      expect(show(rest, show(seen))).toEqual(whole);
    }
    await server.restart();
    const after = await server.openUrl("/agentscope/process/sessions/s/stream?user_id=u");
    expect(await after.all()).toEqual(objects);
  },
);

test("a request with reconnect reads the newest response and starts nothing", async () => {
  const gates = new Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)]);
  const first = await server.open(say("go", { session_id: "s" }));
  await first.until(({ object }) => object === "content");
  const seen = first.objects.length;
  const whole = await server.open({ session_id: "s", reconnect: true });
  const rest = await server.open({ input: [], sessionId: "s", reconnect: true, after: seen - 1 });
  gates.get("go").resolve();
  const objects = await first.all();
  expect(await whole.all()).toEqual(objects);
  expect(await rest.all()).toEqual(objects.slice(seen));
  const unknown = await server.post("/agentscope/process", { session_id: "nobody", reconnect: true });
  expect(unknown.status).toBe(404);
});

test("a server that stops answers a request without a stream with 503, and the request continues", async () => {
  const gates = new Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)]);
  const asked = server.post("/agentscope/process", say("go", { id: "r", session_id: "s", stream: false }));
  await (await watch(server, "s")).until(({ object }) => object === "content");
  await server.closeServer();
  const answer = await asked;
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ error: { code: "UNAVAILABLE" } });
  expect((await server.runtime.status("r")).status).toBe("running");
});

test("a server that stops fails its streams with their text until then, and the session has the rest", async () => {
  const gates = new Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)], { durable: true });
  const stream = await server.open(say("go", { session_id: "s" }));
  const seen = await stream.until(({ object }) => object === "content");
  await server.restart();
  const objects = await stream.all();
  expect(lastOf(objects)).toMatchObject({ status: "failed", error: { code: "UNAVAILABLE" } });
  expect(textsOf(lastOf(objects))).toEqual(["one "]);
  // Only what is in the log has a number, so a client continues after the last number.
  const numbers = objects.flatMap(({ sequence_number: number }) => number ?? []);
  expect(Math.max(...numbers)).toBeGreaterThanOrEqual(seen.sequence_number ?? -1);
  gates.get("go").resolve();
  const rest = await (
    await server.openUrl(`/agentscope/process/sessions/s/stream?after=${Math.max(...numbers)}`)
  ).all();
  checkResponse([...objects.filter(({ sequence_number: number }) => number !== null), ...rest]);
  expect(lastOf(rest).status).toBe("failed");
  expect(responsesOf(rest)).toHaveLength(1);
});

test("an id that another user or another text has used is refused, and a repeat gets its answer", async () => {
  await using server = await TestServer.start([echo]);
  const send = async (text: string, more: object, withFile = false): Promise<readonly [number, unknown]> => {
    const file = { type: "file", filename: "a.txt", file_data: "aGk=" };
    const content = [{ type: "text", text }, ...(withFile ? [file] : [])];
    const body = { stream: false, input: [{ role: "user", type: "message", content }], ...more };
    const answer = await server.post("/agentscope/process", body);
    return [answer.status, await answer.json()];
  };
  const names = { session_id: "s", user_id: "alice" };
  const first = await send("a secret", { id: "r1", ...names });
  expect(first[0]).toBe(200);
  expect(await send("a secret", { id: "r1", ...names })).toEqual(first);
  for (const withFile of [true, false]) {
    for (const user of [{ user_id: "bob" }, { user_id: "bob", session_id: "s" }, {}]) {
      const refused = [409, { error: { code: "CONFLICT", message: anyText } }];
      expect(await send("a secret", { id: "r1", ...user }, withFile)).toEqual(refused);
      expect(await send("hello", { id: "r1", ...user }, withFile)).toEqual(refused);
    }
  }

  for (const [id, own] of [
    ["r2", names],
    ["r3", { user_id: "alice" }],
    ["r4", {}],
  ] as const) {
    const once = await send("look", { id, ...own }, true);
    expect(once[0]).toBe(200);
    expect(await send("look", { id, ...own }, true)).toEqual(once);
    expect((await send("listen", { id, ...own }, true))[0]).toBe(409);
  }
});

test("sessions and users have names of any letters, and different names are different sessions", async () => {
  await using server = await TestServer.start([agents.mirror]);
  const names = ["会".repeat(30), "话".repeat(30), "会".repeat(300)];
  for (const session_id of names) {
    for (const user_id of names) {
      const objects = await (await server.open(say("a", { session_id, user_id }))).all();
      expect(lastOf(objects)).toMatchObject({ status: "completed", session_id });
    }
  }
  const { runs } = await server.runtime.runs({ limit: 20 });
  expect(runs.map(({ turns }) => turns)).toEqual(Array.from({ length: 9 }, () => 1));
});
