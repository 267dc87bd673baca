import { defineAgent, defineTool, operation } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import { expect, test } from "vitest";
import { z } from "zod";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { AgenticServer } from "./server.ts";
import type { Accepted, Frame } from "./server.ts";

const shout = defineTool({
  name: "shout",
  description: "Repeats a text loudly.",
  input: z.object({ text: z.string() }),
  async run({ text }, turn) {
    if (text === "") throw new Error("nothing to shout");
    await turn.text("shouting");
    return { loud: text.toUpperCase() };
  },
});

const crier = defineAgent({
  name: "crier",
  purpose: "Shouts.",
  uses: { shout },
  async chat(input, turn) {
    const { loud } = await turn.tool(shout, { text: input });
    await turn.text(loud);
  },
});

const clerk = defineAgent({
  name: "clerk",
  purpose: "Has payments pay.",
  uses: { payments },
  async chat(_input, turn) {
    const { receipt } = await turn.call(payments, "pay", { to: "bob", amount: 3 });
    return receipt ?? "no receipt";
  },
});

const answers = z.object({ age: z.number(), name: z.string(), isAdult: z.boolean() });
const form = defineAgent({
  name: "form",
  purpose: "Asks for three values at once.",
  operations: { nothing: operation({ description: "Nothing.", input: z.object({}), run: () => null }) },
  async chat(_input, turn) {
    return JSON.stringify(await turn.waitForInput(answers));
  },
});

const interviewer = defineAgent({
  name: "twice",
  purpose: "Asks two questions at the same time.",
  async chat(_input, turn) {
    const [{ name }, { age }] = await Promise.all([
      turn.waitForInput(z.object({ name: z.string().describe("Your name?") })),
      turn.waitForInput(z.object({ age: z.number().describe("Your age?") })),
    ]);
    return `${name} is ${age}`;
  },
});

const failing = defineAgent({
  name: "failing",
  purpose: "Fails.",
  chat: () => {
    throw new Error("no luck");
  },
});

const brain = llmAgent({
  name: "brain",
  purpose: "Thinks.",
  instructions: "Think.",
  model: scriptedModel([{ reasoning: "Two and two, and so on.", text: "four" }]),
});

const agents = [echo, payments, crier, clerk, form, interviewer, failing, brain];

function types(frames: readonly Frame[]): readonly string[] {
  return frames.map(({ data: { type } }) => type);
}

test("discovery lists the paths of all agents, and describe speaks the dialect", async () => {
  await using server = await AgenticServer.start(agents);
  expect(await server.json(server.get("/agentic/_discovery"))).toEqual(agents.map(({ name }) => `/${name}`));
  expect(await server.json(server.get("/agentic/form/describe"))).toEqual({
    name: "form",
    purpose: "Asks for three values at once.",
    endpoints: ["/process", "/resume", "/reset", "/getevents", "/describe", "/threads"],
    operations: ["chat", "nothing"],
    tools: [],
    prompts: {},
  });
  expect(await server.json(server.get("/agentic/crier/describe"))).toMatchObject({ tools: ["shout"] });
});

test("a prompt starts a thread, and its events come as frames named message", async () => {
  await using server = await AgenticServer.start(agents);
  const { request_id: id, thread_id: thread } = await server.ask("echo", "hello");
  const frames = await server.stream("echo", id);
  expect(types(frames)).toEqual(["prompt_started", "chat_output", "turn_end"]);
  expect(frames.map(({ event }) => event)).toEqual(["message", "message", "message"]);
  expect(frames.map(({ id: cursor }) => cursor)).toEqual(["1", "2", "3"]);
  expect(frames.map(({ data }) => data)).toEqual([
    { type: "prompt_started", agent: "echo", depth: 0, payload: { content: "hello" } },
    { type: "chat_output", agent: "echo", depth: 0, payload: { content: "hello", role: "assistant" } },
    {
      type: "turn_end",
      agent: "echo",
      depth: 0,
      payload: { messages: [{ role: "assistant", content: "hello" }] },
    },
  ]);
  for (const name of [null, "NEW", ""]) {
    const body = { prompt: "x", thread_id: name, debug: "tools" };
    const other = (await server.json(server.post("/agentic/echo/process", body))) as Accepted;
    expect(other.thread_id).not.toBe(thread);
  }
  const again = await server.ask("echo", "more", thread);
  expect(again.thread_id).toBe(thread);
  expect(again.request_id).not.toBe(id);
});

test("without stream, getevents answers with the list when the turn has ended or waits", async () => {
  await using server = await AgenticServer.start(agents);
  const { request_id: id } = await server.ask("payments", "pay 3 to bob");
  const list = (await server.json(
    server.get(`/agentic/payments/getevents?request_id=${id}`),
  )) as Frame["data"][];
  expect(list.map(({ type }) => type)).toEqual(["prompt_started", "wait_for_input"]);
});

test("a stream continues behind lastEventId, and one with nothing left is 204", async () => {
  await using server = await AgenticServer.start(agents);
  const { request_id: id } = await server.ask("echo", "hello");
  await server.stream("echo", id);
  expect(types(await server.stream("echo", id, "&lastEventId=2"))).toEqual(["turn_end"]);
  const path = `/agentic/echo/getevents?request_id=${id}&stream=true`;
  expect((await server.get(path, { "last-event-id": "3" })).status).toBe(204);
});

test("getevents refuses a reader that has got events which the log does not have", async () => {
  await using server = await AgenticServer.start(agents);
  const { request_id: id } = await server.ask("echo", "hello");
  await server.stream("echo", id);
  for (const query of ["", "&stream=true"]) {
    const path = `/agentic/echo/getevents?request_id=${id}${query}`;
    expect((await server.get(path, { "last-event-id": "999" })).status).toBe(409);
  }
});

test("tools and completions are reported in the words of the dialect", async () => {
  await using server = await AgenticServer.start(agents);
  const loud = await server.stream("crier", (await server.ask("crier", "hey")).request_id);
  expect(loud.map(({ data }) => data)).toMatchObject([
    { type: "prompt_started" },
    { type: "tool_call", agent: "crier", payload: { name: "shout", arguments: { text: "hey" } } },
    { type: "tool_result", payload: { name: "shout", result: "shouting", is_log: true } },
    {
      type: "tool_result",
      payload: { name: "shout", result: { loud: "HEY" }, is_log: false },
      result: { loud: "HEY" },
    },
    { type: "chat_output", payload: { content: "HEY" } },
    { type: "turn_end" },
  ]);
  const [, call, log, result] = loud;
  const id = call?.data.payload["tool_call_id"];
  expect(id).toEqual(expect.any(String));
  expect([log, result].map((frame) => frame?.data.payload["tool_call_id"])).toEqual([id, id]);

  const failed = await server.stream("crier", (await server.ask("crier", "")).request_id);
  expect(failed.find(({ data: { type } }) => type === "tool_error")?.data.payload).toMatchObject({
    name: "shout",
    error: expect.stringContaining("nothing to shout") as unknown,
  });

  const thought = await server.stream("brain", (await server.ask("brain", "2 + 2")).request_id);
  expect(types(thought)).toContain("completion_start");
  expect(thought.find(({ data: { type } }) => type === "completion_end")?.data.payload).toMatchObject({
    metadata: { model: "scripted", elapsed_time: expect.any(Number) as unknown, cost: 0 },
  });
});

test("a turn that fails ends with its message, and a canceled one with turn_cancelled", async () => {
  await using server = await AgenticServer.start(agents);
  const failed = await server.stream("failing", (await server.ask("failing", "x")).request_id);
  expect(failed.at(-1)?.data).toMatchObject({
    type: "turn_end",
    payload: {
      messages: [{ role: "assistant", content: expect.stringContaining("no luck") as unknown }],
      error: { code: "agent_error" },
    },
  });
  const { request_id: id } = await server.ask("payments", "pay 3 to bob");
  await server.runtime.process("payments", { type: "CancelRequest", request_id: id });
  expect(types(await server.stream("payments", id)).at(-1)).toBe("turn_cancelled");
});

test("a question anywhere in the turn has the name of the agent at the root", async () => {
  await using server = await AgenticServer.start(agents);
  const { request_id: id, thread_id: thread } = await server.ask("clerk", "go");
  const asked = await server.stream("clerk", id);
  expect(asked.at(-1)?.data).toMatchObject({
    type: "wait_for_input",
    agent: "clerk",
    depth: 0,
    payload: { approved: "Pay 3 to bob?" },
  });
  const resumed = await server.json(
    server.post("/agentic/clerk/resume", { continue_result: { approved: "true" }, thread_id: thread }),
  );
  expect(resumed).toEqual({ request_id: id, thread_id: thread });
  const rest = await server.stream("clerk", id);
  expect(rest.at(-1)?.data.payload).toEqual({ messages: [{ role: "assistant", content: "bob:3" }] });
  expect(types(rest)).not.toContain("prompt_started");
});

test("answers arrive as texts and become what the question's schema asks for", async () => {
  await using server = await AgenticServer.start(agents);
  const { request_id: id, thread_id: thread } = await server.ask("form", "go");
  await server.stream("form", id);
  const resume = (values: object): Promise<Response> =>
    server.post("/agentic/form/resume", { continue_result: values, thread_id: thread });
  const misfit = await resume({ age: "many", name: "Ann", isAdult: "yes" });
  expect(misfit.status).toBe(422);
  expect(await misfit.json()).toEqual({ detail: expect.stringContaining("age") as unknown });
  expect((await resume({ size: "3" })).status).toBe(422);
  expect((await resume({ age: "3", name: "true", isAdult: "n" })).status).toBe(200);
  const rest = await server.stream("form", id);
  expect(rest.at(-1)?.data.payload).toEqual({
    messages: [{ role: "assistant", content: '{"age":3,"name":"true","isAdult":false}' }],
  });
  const late = await resume({ age: "3", name: "true", isAdult: "n" });
  expect(late.status).toBe(409);
});

test.each([
  [{ name: "Ann" }, { age: "3" }],
  [{ age: "3" }, { name: "Ann" }],
])("two open questions are answered in both orders: %o first", async (first, second) => {
  await using server = await AgenticServer.start(agents);
  const { request_id: id, thread_id: thread } = await server.ask("twice", "go");
  expect(types(await server.stream("twice", id)).slice(-2)).toEqual(["wait_for_input", "wait_for_input"]);
  const resume = async (values: object): Promise<void> => {
    const body = { continue_result: values, thread_id: thread };
    expect((await server.post("/agentic/twice/resume", body)).status).toBe(200);
  };
  await resume(first);
  const between = await server.stream("twice", id);
  expect(between.map(({ data: { payload } }) => Object.keys(payload))).toContainEqual(Object.keys(second));
  await server.restart();
  await resume(second);
  const rest = await server.stream("twice", id);
  expect(rest.at(-1)?.data.payload).toMatchObject({ messages: [{ content: "Ann is 3" }] });
});

test("a thought is one event in front of the text, and a reader that comes back anywhere gets it whole", async () => {
  await using server = await AgenticServer.start([brain]);
  const { request_id: id, thread_id: thread } = await server.ask("brain", "2 + 2");
  const frames = await server.stream("brain", id);
  expect(types(frames).slice(1, 4)).toEqual(["completion_start", "reasoning_content", "chat_output"]);
  const thought = frames.find(({ data: { type } }) => type === "reasoning_content");
  expect(thought?.data.payload).toEqual({ reasoning_content: "Two and two, and so on." });
  for (const [index, frame] of frames.entries()) {
    const rest = await server.stream("brain", id, `&lastEventId=${frame.id ?? ""}`);
    expect(rest).toEqual(frames.slice(index + 1));
  }
  const logs = (await server.json(server.get(`/agentic/brain/threads/${thread}/logs`))) as readonly Log[];
  expect(logs.map(({ event_name }) => event_name)).toEqual(types(frames));
});

/** What the page of the dashboard reads of an event of a reopened thread. */
interface Log {
  readonly event_name: string;
  readonly agent_id: string;
  readonly role: string;
  readonly event: { readonly payload: unknown };
}

test("a reopened thread shows an answered question as answered, and calls of agents as such", async () => {
  await using server = await AgenticServer.start([clerk, payments]);
  const { request_id: id, thread_id: thread } = await server.ask("clerk", "go");
  await server.stream("clerk", id);
  const read = async () =>
    (await server.json(server.get(`/agentic/clerk/threads/${thread}/logs`))) as readonly Log[];
  /** Their page disables the form of a question behind which an event of the same agent brings the values. */
  const isAnswered = (logs: readonly Log[]): boolean => {
    const own = logs.filter(({ agent_id }) => agent_id === "clerk");
    const asked = own.findIndex(({ event_name }) => event_name === "wait_for_input");
    return own.slice(asked + 1).some(({ event_name }) => event_name === "resume_with_input");
  };
  expect(isAnswered(await read())).toBe(false);
  const body = { continue_result: { approved: "true" }, thread_id: thread };
  await server.post("/agentic/clerk/resume", body);
  const rest = await server.stream("clerk", id);
  expect(types(rest)).toEqual(["resume_with_input", "chat_output", "subagent_result", "turn_end"]);
  expect(rest[2]?.data).toMatchObject({
    agent: "clerk",
    payload: { name: "payments.pay", is_log: false, tool_call_id: expect.any(String) as unknown },
  });
  await server.restart();
  const logs = await read();
  expect(isAnswered(logs)).toBe(true);
  expect(
    logs.filter(({ role }) => role === "user").map(({ event_name, event }) => [event_name, event.payload]),
  ).toEqual([
    ["prompt_started", { content: "go" }],
    ["resume_with_input", { approved: true }],
  ]);
  expect(logs.find(({ event_name }) => event_name === "subagent_call")?.event.payload).toMatchObject({
    name: "payments.pay",
    arguments: { to: "bob", amount: 3 },
  });
});

test("threads and their logs come from the log, the same after a restart", { tags: "long" }, async () => {
  await using server = await AgenticServer.start(agents);
  const { request_id: id, thread_id: thread } = await server.ask("echo", "hello");
  await server.stream("echo", id);
  const read = async (): Promise<readonly unknown[]> => [
    await server.json(server.get("/agentic/echo/threads")),
    await server.json(server.get(`/agentic/echo/threads/${thread}/logs`)),
  ];
  const [threads, logs] = await read();
  expect(threads).toEqual([
    {
      id: thread,
      agent_id: "echo",
      user_id: "default",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+$/) as unknown,
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+$/) as unknown,
      initial_prompt: "hello",
      description: null,
      thread_metadata: {},
    },
  ]);
  expect(logs).toMatchObject([
    { id: `${thread}:1`, thread_id: thread, role: "user", event_name: "prompt_started", depth: 0 },
    { role: "assistant", event_name: "chat_output", event: { payload: { content: "hello" } } },
    { event_name: "turn_end", created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+$/) as unknown },
  ]);
  await server.restart();
  expect(await read()).toEqual([threads, logs]);
});

test("a reset begins a new thread, except of one that is busy", async () => {
  await using server = await AgenticServer.start(agents);
  const { request_id: id, thread_id: thread } = await server.ask("payments", "pay 3 to bob");
  await server.stream("payments", id);
  const busy = await server.post("/agentic/payments/reset", { thread_id: thread });
  expect(busy.status).toBe(409);
  expect(await busy.json()).toEqual({ detail: `thread ${thread} is waiting for input` });
  await server.runtime.process("payments", { type: "CancelRequest", request_id: id });
  const fresh = (await server.json(server.post("/agentic/payments/reset", { thread_id: thread }))) as {
    readonly status: string;
    readonly thread_id: string;
  };
  expect(fresh.status).toBe("success");
  expect(fresh.thread_id).not.toBe(thread);
  expect((await server.ask("payments", "hello", fresh.thread_id)).thread_id).toBe(fresh.thread_id);
  expect((await server.post("/agentic/payments/reset")).status).toBe(200);
});

test("refusals are details with the statuses of the native protocol", async () => {
  await using server = await AgenticServer.start(agents);
  const { request_id: id, thread_id: thread } = await server.ask("echo", "hello");
  const refused: readonly (readonly [number, Promise<Response>])[] = [
    [404, server.post("/agentic/echo/process", { prompt: "x", thread_id: "unknown" })],
    [404, server.post("/agentic/echo/process", { prompt: "x", thread_id: "a b" })],
    [404, server.post("/agentic/crier/process", { prompt: "x", thread_id: thread })],
    [422, server.post("/agentic/echo/process", {})],
    [422, server.post("/agentic/echo/process", { prompt: 3 })],
    [422, server.post("/agentic/echo/process", [])],
    [415, server.post("/agentic/echo/process")],
    [409, server.post("/agentic/echo/resume", { continue_result: {}, thread_id: thread })],
    [404, server.post("/agentic/echo/resume", { continue_result: {}, thread_id: "unknown" })],
    [422, server.post("/agentic/echo/resume", { continue_result: "yes", thread_id: thread })],
    [404, server.get("/agentic/echo/getevents?request_id=unknown&stream=true")],
    [404, server.get(`/agentic/crier/getevents?request_id=${id}`)],
    [404, server.get(`/agentic/echo/getevents?request_id=${thread}`)],
    [422, server.get("/agentic/echo/getevents")],
    [404, server.get("/agentic/echo/threads/unknown/logs")],
    [404, server.get("/agentic/nobody/describe")],
    [405, server.get("/agentic/echo/process")],
  ];
  for (const [status, response] of refused) {
    const { status: got } = await response;
    const body: unknown = await (await response).json();
    expect([got, body]).toEqual([status, { detail: expect.any(String) as unknown }]);
  }
  expect((await server.post("/agentic/login")).status).toBe(200);
});

test("login gives the server's token for the right password only", async () => {
  const token = "open-sesame";
  await using server = await AgenticServer.start(agents, { token });
  for (const body of [undefined, {}, { password: null }, { password: "" }, { password: "wrong" }]) {
    const refused = await server.post("/agentic/login", body);
    expect([refused.status, await refused.json()]).toEqual([401, { detail: expect.any(String) as unknown }]);
  }
  // Their page sends an empty body, with the type of one.
  const headers = { "content-type": "application/json" };
  const empty = await fetch(`${server.url}/agentic/login`, { method: "POST", headers, body: "" });
  expect(empty.status).toBe(401);
  expect(await empty.json()).toEqual({ detail: expect.stringContaining("auth_token") as unknown });
  expect(await server.json(server.post("/agentic/login", { password: token }))).toEqual({ token });
  expect((await server.get("/agentic/_discovery")).status).toBe(401);
  expect((await server.get("/agentic/_discovery", { authorization: `Bearer ${token}` })).status).toBe(200);
});

test("on a port of its own it stands at the root, alone", async () => {
  await using server = await AgenticServer.start(agents, { base: "", native: false });
  expect(await server.json(server.get("/_discovery"))).toContain("/echo");
  const accepted = (await server.json(server.post("/echo/process", { prompt: "hello" }))) as Accepted;
  const list = await server.json(server.get(`/echo/getevents?request_id=${accepted.request_id}`));
  expect((list as Frame["data"][]).map(({ type }) => type)).toEqual([
    "prompt_started",
    "chat_output",
    "turn_end",
  ]);
  for (const path of ["/describe", "/runs", "/echo/runs", "/health"]) {
    expect((await server.get(path)).status).toBe(404);
  }
});

test.each([40, 9_000])(
  "an answer of JSON that is %i levels deep is 422 and leaves the question open",
  async (depth) => {
    const asker = defineAgent({
      name: "asker",
      purpose: "Asks once.",
      async chat(_input, turn) {
        const { q } = await turn.waitForInput({ q: "What?" });
        return q as string;
      },
    });
    await using server = await AgenticServer.start([asker]);
    const { request_id: id, thread_id: thread } = await server.ask("asker", "go");
    await server.stream("asker", id);
    const resume = (q: string): Promise<Response> =>
      server.post("/agentic/asker/resume", { continue_result: { q }, thread_id: thread });
    expect((await resume(`{"q":${"[".repeat(depth)}${"]".repeat(depth)}}`)).status).toBe(422);
    expect((await resume("yes")).status).toBe(200);
    const rest = await server.stream("asker", id);
    expect(rest.at(-1)?.data.payload).toEqual({ messages: [{ role: "assistant", content: "yes" }] });
  },
);
