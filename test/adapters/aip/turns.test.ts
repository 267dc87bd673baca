import type { RunId, Runtime } from "troupe";
import { tasks } from "troupe/adapters/tasks";
import { createApp } from "troupe/http";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { copier, publisher, speaker, worker } from "./peers/agents.ts";
import { statusOf, textOf } from "./peers/client.ts";
import { start } from "./peers/start.ts";

interface Logged {
  readonly id: number;
  readonly type: string;
  readonly finish_reason?: string;
}

async function runIdOf(runtime: Runtime, agent: string): Promise<RunId> {
  const { runs } = await runtime.runs({ agent, limit: 10 });
  expect(runs).toHaveLength(1);
  return runs[0]?.run_id as RunId;
}

async function eventsOf(runtime: Runtime, agent: string): Promise<readonly Logged[]> {
  const runId = await runIdOf(runtime, agent);
  const { events } = await runtime.read({ kind: "run", runId, agent }, { after: 0 });
  return events.map((text) => JSON.parse(text) as Logged);
}

async function endsOf(runtime: Runtime, agent: string): Promise<readonly (string | undefined)[]> {
  const events = await eventsOf(runtime, agent);
  return events.filter(({ type }) => type === "RequestCompleted").map(({ finish_reason: reason }) => reason);
}

async function started(runtime: Runtime, agent: string): Promise<void> {
  await expect
    .poll(async () => (await runtime.runs({ agent, status: "running", limit: 1 })).runs.length)
    .toBe(1);
}

test("20 an operation is a tool: its result, its errors, and what is no tool", async () => {
  await using here = await start([worker, payments]);
  for (const direct of [false, true]) {
    const call = (name: string, input = "{}") =>
      here.client.tool({ tool_name: `worker.${name}`, arguments: input }, direct);
    expect(await call("add", '{"a":2,"b":3}')).toMatchObject({
      sender_id: "troupe",
      receiver_id: "me",
      session_id: "tool_1",
      is_error: false,
      error_message: "No Error",
      content: [{ text: '{"sum":5}' }],
    });
    const failed = (message: string) => ({
      is_error: true,
      error_message: expect.stringContaining(message) as string,
      content: [],
    });
    expect(await call("add", '{"a":"2"}')).toMatchObject(failed("a"));
    expect(await call("add", "{")).toMatchObject(failed("the arguments of worker.add are no JSON"));
    for (const depth of [40, 9_000]) {
      const deep = `{"a":${"[".repeat(depth)}${"]".repeat(depth)},"b":1}`;
      expect(await call("add", deep)).toMatchObject(failed("is nested deeper than 32 levels"));
    }
    expect(await call("fail")).toMatchObject(failed("Error executing tool: "));
    expect(await call("nothing")).toMatchObject(failed("there is no tool worker.nothing"));
    expect(await call("ask")).toMatchObject(failed("the tool asks a question"));
    expect(textOf(await call("large"))).toHaveLength(200_011);
    await expect(here.client.tool({ receiver_id: "worker" }, direct)).rejects.toMatchObject({ code: 5 });
  }
});

test("21 files reach our agents and come back, of every kind and byte by byte", async () => {
  await using here = await start([copier]);
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
  const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), bytes]);
  const content = [{ text: "copy" }, { image: png }, { image: bytes }, { audio: bytes }, { embedded: bytes }];
  const session = here.client.session({ receiver_id: "copier" });
  session.start(undefined, { content });
  expect((await session.next())?.content).toMatchObject([
    { text: "copy: image/png, image/unknown, audio/unknown, application/octet-stream" },
    ...content.slice(1),
  ]);
});

test("21 files that do not fit into one answer come in several", async () => {
  await using here = await start([copier]);
  const bytes = Buffer.alloc(1_600_000, 7);
  const session = here.client.session({ receiver_id: "copier" });
  session.start("a", { content: [{ embedded: bytes }, { embedded: bytes }] });
  session.hold("b", { content: [{ text: "b" }, { embedded: bytes }] });
  session.stop();
  const messages = await session.all();
  expect(messages.map((message) => [statusOf(message), message.content.length])).toEqual([
    ["holdResponse FINISH", 3],
    ["holdResponse FINISH", 2],
    ["stopResponse FINISH", 0],
  ]);
});

test("21 a file above 3.5 MiB is named by its address", async () => {
  await using here = await start([publisher]);
  const session = here.client.session({ receiver_id: "publisher" });
  session.start("3670016");
  expect((await session.next())?.content.map(({ data }) => data)).toEqual(["text"]);
  expect((await session.next())?.content.map(({ audio }) => audio?.length)).toEqual([3_670_016]);
  session.hold("3670017");
  const large = await session.next();
  expect(large?.content).toMatchObject([
    { text: "published" },
    { text: expect.stringMatching(/^\/artifacts\/[\w-]+$/) as string },
  ]);
});

test.each(["RouteAgentCalling", "RouteToolCalling", "RegisterAgent", "GetNodes"])(
  "bytes that are no message are refused by %s, and the gateway still serves",
  async (method) => {
    await using here = await start([echo]);
    const { code } = await here.client.garbage(method, Buffer.from("ffffffffffff", "hex"));
    expect([3, 13]).toContain(code);
    const session = here.client.session();
    session.start("hello");
    expect(textOf(await session.next())).toBe("hello");
  },
);

test("22 a caller that cancels ends the running turn, which is in the log", async () => {
  await using here = await start([worker]);
  const session = here.client.session({ receiver_id: "worker" });
  session.start("work");
  await started(here.runtime, "worker");
  session.cancel();
  await expect.poll(() => endsOf(here.runtime, "worker")).toEqual(["canceled"]);
});

test("22 a caller that disconnects ends the running turn, and a later session continues the run", async () => {
  await using here = await start([worker, echo]);
  {
    using other = here.open();
    const session = other.session({ receiver_id: "worker", session_id: "same" });
    session.start("work");
    await started(here.runtime, "worker");
    session.cancel();
  }
  await expect.poll(() => endsOf(here.runtime, "worker")).toEqual(["canceled"]);
  const again = here.client.session({ receiver_id: "worker", session_id: "same" });
  again.start("fail", { message_id: "again" });
  expect(statusOf(await again.next())).toBe("holdResponse BREAK");
  expect(await endsOf(here.runtime, "worker")).toEqual(["canceled", "error"]);
});

test("22 a tool call that its caller cancels ends in the log", async () => {
  await using here = await start([worker]);
  const { cancel, ended } = here.client.cancelableTool({ tool_name: "worker.sleep", arguments: "{}" });
  await started(here.runtime, "worker");
  cancel();
  expect(await ended).toMatchObject({ code: 1 });
  await expect.poll(() => endsOf(here.runtime, "worker")).toEqual(["canceled"]);
});

test("22 a proper end cancels nothing", async () => {
  await using here = await start([speaker]);
  const session = here.client.session({ receiver_id: "speaker" });
  session.start("a b");
  session.stop();
  await session.all();
  expect(await endsOf(here.runtime, "speaker")).toEqual(["success"]);
});

test("22 a turn that waits stays open when its caller leaves, and the next session answers it", async () => {
  await using here = await start([payments]);
  const first = here.client.session({ receiver_id: "payments", session_id: "same" });
  first.start("pay 30 to bob");
  expect(statusOf(await first.next())).toBe("holdResponse WAITING");
  first.cancel();
  await first.status;
  const open = () => here.client.session({ receiver_id: "payments", session_id: "same" });
  let second = open();
  // The server notices the cancel later than the caller.
  await expect
    .poll(async () => {
      second.start(undefined, { message_id: "" });
      const message = await second.next();
      if (message === undefined) second = open();
      return textOf(message);
    })
    .toBe("Pay 30 to bob?");
  second.hold("perhaps");
  const refused = await second.next();
  expect(statusOf(refused)).toBe("holdResponse WAITING");
  expect(textOf(refused)).toContain("Pay 30 to bob?");
  second.hold('{"approved": true}');
  expect(textOf(await second.next())).toBe("Paid 30 to bob.");
  expect(await endsOf(here.runtime, "payments")).toEqual(["success"]);
});

test("24 the run of a session is readable over the native and the classic protocol, and its id is a session id", async () => {
  await using here = await start([payments]);
  const session = here.client.session({ receiver_id: "payments" });
  const messageId = session.start("pay 30 to bob");
  await session.next();
  const runId = await runIdOf(here.runtime, "payments");
  const app = createApp(here.runtime, { adapters: [tasks()] });
  const ask = async (path: string, body?: object): Promise<unknown> => {
    const answer = await app.request(`http://localhost${path}`, {
      headers: { "content-type": "application/json" },
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });
    return answer.json();
  };
  const events = (await ask(`/payments/getevents/${runId}`)) as readonly Logged[];
  expect(events.map(({ type }) => type)).toEqual(["RequestStarted", "WaitForInput"]);
  expect(await ask(`/payments/request/${messageId}`)).toMatchObject({ status: "waiting", run_id: runId });
  expect(await ask(`/payments/ap/v1/agent/tasks/${runId}`)).toMatchObject({
    task_id: runId,
    input: "pay 30 to bob",
    steps: [{ output: "Pay 30 to bob?" }],
  });
  await ask("/payments/process?wait=true", {
    type: "ResumeWithInput",
    request_id: messageId,
    request_keys: { approved: true },
  });
  const other = here.client.session({ receiver_id: "payments", session_id: runId });
  other.start();
  const result = await other.next();
  expect([statusOf(result), textOf(result)]).toEqual(["holdResponse FINISH", "Paid 30 to bob."]);
  expect(await endsOf(here.runtime, "payments")).toEqual(["success"]);
});

test("26 a quest answers the question of a turn that another protocol has started in the run", async () => {
  await using here = await start([payments]);
  const session = here.client.session({ receiver_id: "payments" });
  session.start("hello");
  expect(statusOf(await session.next())).toBe("holdResponse FINISH");
  const runId = await runIdOf(here.runtime, "payments");
  const request = { type: "ChatRequest", input: "pay 30 to bob", run_id: runId } as const;
  const receipt = await here.runtime.process("payments", request);
  await here.runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  session.hold("yes");
  const answer = await session.next();
  expect([statusOf(answer), textOf(answer)]).toEqual(["holdResponse FINISH", "Paid 30 to bob."]);
});

test("a gateway that stops ends a session in the middle of a turn, and the turn continues", async () => {
  await using here = await start([worker]);
  const session = here.client.session({ receiver_id: "worker" });
  session.start("work", { task_info: { task_id: "task-1", task_status: 0 } });
  await started(here.runtime, "worker");
  await here.gateway.stop();
  const last = await session.next();
  expect(statusOf(last)).toBe("stopResponse EXECUTING");
  expect(last?.task_info?.task_id).toBe("task-1");
  expect(await session.status).toMatchObject({ code: 0 });
  expect(await endsOf(here.runtime, "worker")).toEqual([]);
});

test("a turn that fails is answered with BREAK, and the session continues", async () => {
  await using here = await start([worker, speaker]);
  const session = here.client.session({ receiver_id: "worker" });
  session.start("fail");
  session.hold("fail");
  session.stop();
  expect((await session.all()).map(statusOf)).toEqual([
    "holdResponse BREAK",
    "holdResponse BREAK",
    "stopResponse BREAK",
  ]);
});

test("with stream, each text is an answer of its own, and no text comes twice", async () => {
  await using here = await start([speaker], { stream: true });
  const session = here.client.session({ receiver_id: "speaker" });
  session.start("one two three");
  session.stop();
  expect((await session.all()).map((message) => [statusOf(message), textOf(message)])).toEqual([
    ["holdResponse EXECUTING", "one"],
    ["holdResponse EXECUTING", "two"],
    ["holdResponse EXECUTING", "three"],
    ["holdResponse FINISH", ""],
    ["stopResponse FINISH", ""],
  ]);
});

test("a message id that another session has used does not mix their turns", async () => {
  await using here = await start([echo]);
  const sessions = ["a", "b"].map(() => here.client.session());
  for (const session of sessions) session.start("same text", { message_id: "msg_12345678" });
  for (const session of sessions)
    expect(await session.next()).toMatchObject({
      session_id: session.ids.session_id,
      reply_to_message_id: "msg_12345678",
      content: [{ text: "same text" }],
    });
  expect((await here.runtime.runs({ agent: "echo", limit: 10 })).runs.map(({ turns }) => turns)).toEqual([
    1, 1,
  ]);
});

test("a session ends with the status of a broken message", async () => {
  await using here = await start([echo]);
  const session = here.client.session();
  session.start("a");
  session.send("holdResponse", "b");
  expect(textOf(await session.next())).toBe("a");
  expect(await session.status).toMatchObject({ code: 3, details: "a caller sends quests, no responses" });
});

test("23 fifteen hundred canceled sessions do not disturb one that continues", { tags: "long" }, async () => {
  const reports: string[] = [];
  await using here = await start([worker, echo], { report: (message) => reports.push(message) });
  expect(reports).toEqual([]);
  const session = here.client.session();
  session.start("before");
  expect(textOf(await session.next())).toBe("before");
  for (let round = 0; round < 3; round += 1) {
    const canceled = Array.from({ length: 500 }, () => here.client.session({ receiver_id: "worker" }));
    for (const one of canceled) one.start("fail");
    // A stream that has not reached the server needs no reset.
    await Promise.race(canceled.map((one) => one.next()));
    for (const one of canceled) one.cancel();
    await Promise.all(canceled.map((one) => one.status));
    session.hold(`round ${round}`);
    expect(textOf(await session.next())).toBe(`round ${round}`);
  }
  session.stop();
  expect((await session.all()).map(statusOf)).toEqual(["stopResponse FINISH"]);
  expect(await session.status).toMatchObject({ code: 0 });
});
