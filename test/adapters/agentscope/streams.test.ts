import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { pdfWriter } from "../../../agents/pdf-writer.ts";
import { fromJava } from "../../../src/adapters/agentscope/index.ts";
import { nodeEnvironment } from "../../../src/node/environment.ts";
import * as agents from "./harness/agents.ts";
import { Gates } from "../gates.ts";
import { AnswerStream } from "./harness/answer-stream.ts";
import {
  anyNumber,
  anyText,
  checkContents,
  checkFrame,
  checkMessages,
  checkNumbers,
  checkResponse,
  dataOf,
  lastOf,
  messagesOf,
  responsesOf,
  textsOf,
} from "./harness/objects.ts";
import { say, TestServer } from "./harness/server.ts";

test("1: a stream is 200, and each frame a cursor and one line of JSON", async () => {
  await using server = await TestServer.start([echo]);
  const stream = await server.open(say("hello there"));
  await stream.all();
  expect(stream.frames.length).toBeGreaterThan(6);
  for (const frame of stream.frames) expect(frame).toMatch(/^id: \d+(\.\d+)?\ndata: \{[^\n]*\}$/);
  expect(stream.text).not.toContain("\r");
  expect(stream.text.endsWith("}\n\n")).toBe(true);
});

test("2: a response is created, in progress, and ends once; nothing follows", async () => {
  await using server = await TestServer.start([echo]);
  const objects = await (await server.open(say("hello there"))).all();
  checkFrame(objects);
  expect(objects).toHaveLength(8);
});

test("3: sequence numbers count all objects from 0, anew in each response", async () => {
  await using server = await TestServer.start([agents.forecaster]);
  const first = await (await server.open(say("Oslo?", { session_id: "s" }))).all();
  const second = await (await server.open(say("Oslo?", { session_id: "s" }))).all();
  checkNumbers(first);
  checkNumbers(second);
  expect(second).toHaveLength(first.length);
});

test.each([
  ["4: a message is announced before its contents", checkContents],
  ["5: the deltas of a content are its text, and that of its message", checkContents],
  ["6: a message is in progress and ends once", checkMessages],
  ["7: the output is all messages in their order", checkMessages],
])("%s", async (_, check) => {
  await using server = await TestServer.start([agents.thinker, agents.forecaster, agents.publisher]);
  for (const agent of ["thinker", "forecaster", "publisher"]) {
    const objects = await (await server.open(say("Oslo"), `/agentscope/${agent}/process`)).all();
    check(objects);
    expect(messagesOf(objects).length).toBeGreaterThan(4);
  }
});

test("8: times are those of the events, in whole seconds, and no two responses share the server's start", async () => {
  let nowMs = Date.parse("2026-01-31T12:00:00.400Z");
  const gates = new Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)], {
    environment: { ...nodeEnvironment(), now: () => nowMs },
  });
  const times = async () => {
    const stream = await server.open(say("go"));
    await stream.until((object) => object.object === "content");
    nowMs += 2_000;
    gates.get("go").resolve();
    const objects = await stream.all();
    expect(new Set(responsesOf(objects).map(({ created_at }) => created_at)).size).toBe(1);
    return [lastOf(objects).created_at, lastOf(objects).completed_at];
  };
  const start = Date.parse("2026-01-31T12:00:00Z") / 1_000;
  expect(await times()).toEqual([start, start + 2]);
  nowMs += 2_000;
  expect((await times())[0]).toBe(start + 4);
});

test("9: a session id is echoed in every response object; without one, a new one is", async () => {
  await using server = await TestServer.start([echo]);
  const sessions = async (body: object) =>
    responsesOf(await (await server.open(body)).all()).map(({ session_id }) => session_id);
  expect(await sessions(say("a", { session_id: "mine" }))).toEqual(["mine", "mine", "mine"]);
  const given = await sessions(say("a"));
  expect(given[0]).toMatch(/^.+$/);
  expect(new Set(given).size).toBe(1);
  expect(await sessions(say("a"))).not.toContain(given[0]);
});

test("10: an id of the client is the id of the response", async () => {
  await using server = await TestServer.start([echo]);
  const objects = await (await server.open(say("a", { id: "response_x" }))).all();
  expect(responsesOf(objects).map(({ id }) => id)).toEqual(["response_x", "response_x", "response_x"]);
  const other = await (await server.open(say("a", { response_id: "response_y" }))).all();
  expect(lastOf(other).id).toBe("response_y");
});

test("11: a call and its output share the call id, and the call completes before the output begins", async () => {
  await using server = await TestServer.start([agents.forecaster]);
  const objects = await (await server.open(say("Oslo"))).all();
  const tools = messagesOf(objects).filter(({ type }) => type.startsWith("plugin_call"));
  expect(tools.map(({ type, role, status }) => [type, role, status])).toEqual([
    ["plugin_call", "assistant", "in_progress"],
    ["plugin_call", "assistant", "completed"],
    ["plugin_call_output", "tool", "in_progress"],
    ["plugin_call_output", "tool", "completed"],
  ]);
  const [call] = dataOf(lastOf(objects), "plugin_call");
  const [output] = dataOf(lastOf(objects), "plugin_call_output");
  expect(call?.["call_id"]).toBe(output?.["call_id"]);
  expect(JSON.parse(String(call?.["arguments"]))).toEqual({ city: "Oslo" });
  expect(JSON.parse(String(output?.["output"]))).toEqual({ degrees: 4 });
});

test("12: an agent that throws fails the response, which has its text until then", async () => {
  await using server = await TestServer.start([agents.thrower]);
  const objects = await (await server.open(say("go"))).all();
  checkResponse(objects);
  expect(lastOf(objects)).toMatchObject({
    status: "failed",
    error: { code: "AGENT_ERROR", message: "it broke" },
    completed_at: anyNumber,
  });
  expect(textsOf(lastOf(objects))).toEqual(["so far "]);
});

test("24: an agent that says nothing completes with one text", async () => {
  await using server = await TestServer.start([agents.silent]);
  const objects = await (await server.open(say("go"))).all();
  checkResponse(objects);
  expect(lastOf(objects).output).toMatchObject([{ type: "message", content: [{ type: "text", text: "" }] }]);
});

test("25: a file becomes the content of its media type, and its address gives the bytes", async () => {
  await using server = await TestServer.start([agents.publisher, pdfWriter]);
  const objects = await (await server.open(say("go"))).all();
  checkResponse(objects);
  const [, image, audio, video, file] = lastOf(objects).output ?? [];
  const url = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/artifacts\//) as string;
  expect(image?.content).toMatchObject([{ type: "image", image_url: url }]);
  expect(audio?.content).toMatchObject([{ type: "audio", data: url, format: "mpeg" }]);
  expect(video?.content).toMatchObject([{ type: "video", video_url: url }]);
  expect(file?.content).toMatchObject([{ type: "file", file_url: url, file_id: anyText, filename: "a.pdf" }]);
  const [shown] = image?.content ?? [];
  const path = shown?.type === "image" ? shown.image_url : "";
  expect(await (await fetch(path)).text()).toBe("png");

  await using proxied = await TestServer.start([agents.publisher], { serve: { trustProxy: true } });
  const headers = { "x-forwarded-prefix": "/below" };
  const below = await (await proxied.open(say("go"), "/agentscope/process", { headers })).all();
  expect(lastOf(below).output?.[1]?.content).toMatchObject([
    { image_url: expect.stringMatching(/^http:\/\/[\w.:]+\/below\/artifacts\//) as string },
  ]);
});

test("26: a message has the usage of its completion, and the response that of the turn", async () => {
  await using server = await TestServer.start([agents.thinker]);
  const last = lastOf(await (await server.open(say("Oslo?"))).all());
  const usages = (last.output ?? []).flatMap(({ usage }) => (usage === null ? [] : [usage]));
  expect(usages).toHaveLength(2);
  const total = (name: string) => usages.reduce((sum, usage) => sum + Number(usage[name]), 0);
  expect(last.usage).toEqual({ input_tokens: total("input_tokens"), output_tokens: total("output_tokens") });
});

test("27: a silent stream has heartbeats, which are comments and have no number", async () => {
  const gates = new Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)], {
    serve: { streams: { heartbeatMs: 20 } },
  });
  const stream = await server.open(say("go"));
  await stream.untilText(": heartbeat\n\n: heartbeat\n\n");
  gates.get("go").resolve();
  const objects = await stream.all();
  checkResponse(objects);
  expect(textsOf(lastOf(objects))).toEqual(["one ", "two"]);
});

test("28: in the Java dialect the same response has its names, types, times and lists", async () => {
  await using server = await TestServer.start([agents.publisher]);
  const python = await (await server.open(say("go", { id: "r", session_id: "s" }))).all();
  const java = await (await server.openUrl("/agentscope/process/sessions/s/stream?dialect=java")).all();
  expect(java.map((object) => fromJava(object as never))).toEqual(python);
  expect(java[0]).toMatchObject({ sequenceNumber: 0, sessionId: "s", output: [] });
  expect(String((java[0] as unknown as { createdAt: number }).createdAt)).toHaveLength(13);
  expect(java[2]).toMatchObject({ type: "MESSAGE", content: [] });
  expect(java[3]).toMatchObject({ msgId: anyText });
  expect(JSON.stringify(java.at(-1))).toContain('"imageUrl"');
  const accepted = await server.open(say("go"), "/agentscope/process", {
    headers: { accept: "text/event-stream; dialect=java" },
  });
  expect((await accepted.all())[0]).toHaveProperty("sequenceNumber");
  await using other = await TestServer.start([echo], { dialect: "java" });
  expect((await (await other.open(say("a"))).all())[0]).toHaveProperty("sessionId");
  expect((await (await other.open(say("a"), "/process?dialect=python")).all())[0]).toHaveProperty(
    "session_id",
  );
});

test("a reader that comes back with Last-Event-ID gets each frame behind it once, then 204", async () => {
  await using server = await TestServer.start([agents.forecaster]);
  const whole = await server.open(say("Oslo", { session_id: "s" }));
  await whole.all();
  const path = "/agentscope/process/sessions/s/stream";
  for (const [index, frame] of whole.frames.entries()) {
    const id = frame.slice("id: ".length, frame.indexOf("\n"));
    const answer = await server.get(path, { "last-event-id": id });
    const isLast = index === whole.frames.length - 1;
    expect(answer.status).toBe(isLast ? 204 : 200);
    if (isLast) continue;
    const rest = AnswerStream.of(answer);
    await rest.all();
    expect(rest.frames).toEqual(whole.frames.slice(index + 1));
  }
  expect((await server.get(path, { "last-event-id": "1000" })).status).toBe(409);
});

test("the Java edition has the time to the millisecond, the Python edition whole seconds", async () => {
  const nowMs = Date.parse("2026-01-31T12:00:00.421Z");
  const environment = { ...nodeEnvironment(), now: () => nowMs };
  await using server = await TestServer.start([echo], { environment });
  const body = say("a", { stream: false });
  const java: unknown = await (await server.post("/agentscope/process?dialect=java", body)).json();
  expect(java).toMatchObject({ createdAt: nowMs, completedAt: nowMs });
  const python: unknown = await (await server.post("/agentscope/process", body)).json();
  const seconds = Math.floor(nowMs / 1_000);
  expect(python).toMatchObject({ created_at: seconds, completed_at: seconds });
});

test("the result of a task has absolute addresses of its files, too", async () => {
  await using server = await TestServer.start([agents.publisher]);
  await (await server.open(say("go", { id: "files" }))).all();
  const task = await (await server.get("/agentscope/process/task/files")).text();
  expect(task).toContain(`"image_url":"${server.url}/artifacts/`);
});
