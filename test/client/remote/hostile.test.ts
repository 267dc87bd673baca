// A misbehaving remote agent affects only the call that was made to it.
import type { ServerResponse } from "node:http";
import { createRuntime, defineAgent } from "troupe";
import { remoteAgent } from "troupe/client";
import type { RemoteLimits } from "troupe/client";
import type { Event } from "troupe/protocol";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { ofType, requestOf, textsOf } from "../../agents/events.ts";
import { hastyEnvironment } from "./hasty.ts";
import { completed, event, frame, json, open, startHostile, stream } from "../hostile-server.ts";
import type { Handler, Routes } from "../hostile-server.ts";

// The clock is fast here: these are milliseconds of that clock, mostly long even for a loaded machine.
const limits = {
  acceptMs: 30_000,
  unreachableMs: 10_000,
  idleMs: 100_000,
  silenceMs: 100_000,
  answerMs: 10_000,
  cancelMs: 60_000,
  events: 1_000,
  eventBytes: 10_000,
  characters: 100_000,
};

const started = event(1, "RequestStarted");

/** Limits for an agent that is alive but sends no events, and for one that sends nothing. */
const impatient = { silenceMs: 2_000 };
const lonely = { idleMs: 8_000, unreachableMs: 4_000 };

/** The behavior of its event stream, and the end of the call. */
const streams: readonly (readonly [
  what: string,
  end: string,
  handler: Handler,
  special?: Partial<RemoteLimits>,
])[] = [
  ["sends no JSON", "tool_error: agent fiend sent an event that is not JSON", raw("data: {nonsense\n\n")],
  ["sends no events", "tool_error: agent fiend sent an invalid event", raw("data: [1,2]\n\n")],
  [
    "sends events without ids",
    "tool_error: agent fiend sent an invalid event",
    raw('data: {"type":"TextOutput"}\n\n'),
  ],
  [
    "sends ids that are none",
    "tool_error: agent fiend sent an invalid event",
    raw('data: {"id":1.5,"type":"x"}\n\n'),
  ],
  ["sends another type of content", "tool_error: agent fiend did not answer with an event stream", json([])],
  ["answers with 500", "tool_error: agent fiend refused: HTTP 500", json({}, 500)],
  [
    "answers with 503 and an hour to wait",
    "tool_error: agent fiend refused: come back",
    (response) => {
      response.writeHead(503, { "retry-after": "3600", "content-type": "application/problem+json" });
      response.end(JSON.stringify({ code: "unavailable", detail: "come back" }));
    },
  ],
  [
    "no longer knows the request",
    "interrupted: agent fiend has lost the request; whether it took effect is unknown",
    json({}, 404),
  ],
  ["redirects", "tool_error: agent fiend answers with a redirect, which is not followed", redirect],
  [
    "sends an event of another request",
    "tool_error: agent fiend sent an event of another request",
    stream(started, { ...event(2, "TextOutput", { content: "x" }), request_id: "req_2" }),
  ],
  [
    "sends an event of another run",
    "tool_error: agent fiend sent an event of another run",
    stream(started, { ...event(2, "TextOutput", { content: "x" }), run_id: "run_2" }),
  ],
  [
    "sends an event too deep",
    "tool_error: agent fiend is part of a chain of agents that is too deep",
    stream(event(2, "TextOutput", { content: "x", depth: 9 })),
  ],
  [
    "sends an event without a depth",
    "tool_error: agent fiend sent an event without a valid depth",
    stream(event(2, "TextOutput", { content: "x", depth: -1 })),
  ],
  [
    "sends half a surrogate pair",
    "tool_error: agent fiend sent an event that cannot be kept: content contains half of a surrogate pair",
    stream(event(2, "TextOutput", { content: "\ud800" })),
  ],
  [
    "sends JSON that is too deep",
    "tool_error: agent fiend sent an event that cannot be kept: args.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0 is nested deeper than 32 levels",
    stream(event(2, "ToolCall", { function_name: "f", args: nested(40) })),
  ],
  [
    "sends a key with a meaning",
    "tool_error: agent fiend sent an event that cannot be kept: args.__proto__ is a key that is not allowed",
    raw('data: {"id":2,"type":"ToolCall","args":{"__proto__":{"polluted":true}}}\n\n'),
  ],
  [
    "sends a huge event",
    "tool_error: a frame of the stream is larger than 10000 bytes",
    stream(event(2, "TextOutput", { content: "x".repeat(20_000) })),
  ],
  [
    "sends an event that is huge in bytes",
    "tool_error: an event of the stream is larger than 10000 bytes",
    stream(event(2, "TextOutput", { content: "€".repeat(4_000) })),
  ],
  [
    "sends a huge frame that never ends",
    "tool_error: a frame of the stream is larger than 10000 bytes",
    endless("data: x\n", 0),
  ],
  ["sends events for ever", "tool_error: agent fiend sends more events than a request may have", counting],
  [
    "sends the same event for ever",
    "tool_error: agent fiend sends more events than a request may have",
    endless(frame(started), 0),
  ],
  [
    "sends heartbeats for ever",
    "timeout: agent fiend sent no event for 2000 ms",
    endless(":\n\n", 20),
    impatient,
  ],
  [
    "sends a frame byte by byte for ever",
    "timeout: agent fiend sent nothing for 8000 ms",
    endless("x", 20),
    lonely,
  ],
  [
    "says nothing at all",
    "timeout: agent fiend sent nothing for 8000 ms",
    (response) => void open(response),
    lonely,
  ],
  ["does not even answer", "timeout: agent fiend did not answer within 8000 ms", () => {}, lonely],
  [
    "hangs up at once, each time",
    "tool_error: agent fiend cannot be reached",
    (response) => response.destroy(),
  ],
  [
    "ends its stream in the middle, each time",
    "timeout: agent fiend sent no event for 2000 ms",
    stream(started),
    impatient,
  ],
  [
    "ends a stream without a word",
    "tool_error: agent fiend ended its events without an end of the request",
    stream(),
  ],
  [
    "ends as canceled",
    "canceled: agent fiend was canceled on its server",
    stream(completed(2, { finish_reason: "canceled" })),
  ],
  [
    "ends with an error it made up",
    "tool_error: agent fiend failed: it gives no reason",
    stream(completed(2, { finish_reason: "error", error: { code: "x" } })),
  ],
  [
    "opens more calls than anybody",
    "tool_error: agent fiend sends more events than a request may have",
    opening("ToolCall", 1_100),
  ],
  [
    "asks more than anybody",
    "tool_error: agent fiend asks more than 100 questions at a time",
    opening("WaitForInput", 101),
  ],
  [
    "publishes a file of somebody else",
    "tool_error: agent fiend published a file at a foreign address",
    stream(
      event(2, "ArtifactGenerated", {
        name: "x",
        url: "http://169.254.169.254/secrets",
        mime_type: "text/plain",
      }),
    ),
  ],
  [
    "publishes a file without an address",
    "tool_error: agent fiend published a file at a foreign address",
    stream(event(2, "ArtifactGenerated", {})),
  ],
  [
    "publishes a file that is not there",
    "tool_error: agent fiend published a file that does not exist",
    stream(event(2, "ArtifactGenerated", { url: "/gone" })),
  ],
];

test.each(streams.map(([what, end, handler, special = {}]) => [what, end, handler, special] as const))(
  "an agent that %s ends its call with %j",
  async (_what, end, getevents, special) => {
    const file: Handler = json({}, 404);
    const events = await call({ getevents, file }, special);
    expect(textsOf(events)).toEqual([end]);
    checkOrder(events);
  },
);

/** The behavior of the request itself. */
const answers: readonly (readonly [what: string, end: string, handler: Handler])[] = [
  ["refuses it", "tool_error: agent fiend refused: no", json({ detail: "no" }, 403)],
  ["does not fit it", "invalid_input: agent fiend refused: no", json({ detail: "no" }, 422)],
  ["answers with 500", "tool_error: agent fiend refused: HTTP 500", json({}, 500)],
  [
    "answers with nothing",
    "tool_error: agent fiend answers without a request id",
    (response) => response.end(),
  ],
  [
    "answers with a page",
    "tool_error: agent fiend did not answer with JSON",
    (response) => response.end("<html>"),
  ],
  [
    "answers with ids that are none",
    "tool_error: agent fiend answers without a request id",
    json({ request_id: { a: 1 } }),
  ],
  [
    "answers with megabytes",
    "tool_error: agent fiend answers with more than 8388608 bytes",
    endless("x".repeat(65_536), 0),
  ],
  ["redirects", "tool_error: agent fiend answers with a redirect, which is not followed", redirect],
  ["hangs up", "tool_error: agent fiend cannot be reached", (response) => response.destroy()],
];

test.each(answers)("an agent that %s when it is asked ends its call with %j", async (_what, end, process) => {
  expect(textsOf(await call({ process }))).toEqual([end]);
});

test.each([
  ["is no description", json([1])],
  ["is a page", (response) => response.end("<html>")],
  [
    "contains special keys",
    (response) => response.end('{"name":"x","operations":[{"name":"constructor"},{"name":"__proto__"}]}'),
  ],
  ["redirects", redirect],
  ["never comes", () => {}],
] satisfies readonly (readonly [string, Handler])[])(
  "a description that %s does no harm",
  async (_what, describe) => {
    const events = await call({ describe });
    expect(textsOf(events)).toEqual(["fine"]);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  },
);

test("an agent that redirects is not followed to any target", async () => {
  await using other = await startHostile({});
  await call({
    getevents: (response) => {
      response.writeHead(307, { location: `${other.url}/getevents/req_1` });
      response.end();
    },
  });
  expect(other.asked).toEqual([]);
});

test("calls without an end, ends without a call and repeats of both give one end per call", async () => {
  const events = await call({
    getevents: stream(
      started,
      event(2, "ToolResult", { tool_call_id: "ghost", function_name: "f", text_result: "boo" }),
      event(3, "ToolCall", { tool_call_id: "a", function_name: "f", args: {} }),
      event(4, "ToolCall", { tool_call_id: "a", function_name: "g", args: {} }),
      event(5, "ToolResult", { tool_call_id: "a", text_result: "1" }),
      event(6, "ToolResult", { tool_call_id: "a", text_result: "2" }),
      event(7, "ToolError", { tool_call_id: "a", content: "3" }),
      event(8, "ToolCall", { tool_call_id: "open", function_name: "h", args: {} }),
      event(9, "TextOutput", { content: "below", depth: 3, parent_call_id: "nobody" }),
      event(10, "NoSuchEvent", { content: "x" }),
      event(11, "ToolTextOutput", { content: "whose?", tool_call_id: "nobody" }),
      completed(12),
    ),
  });
  expect(textsOf(events)).toEqual(["fine"]);
  checkOrder(events);
  expect(ofType(events, "ToolError").map(({ function_name: name, code }) => [name, code])).toEqual([
    ["h", "canceled"],
  ]);
});

test("a result of null is null here too, and an absent one is the text", async () => {
  const events = await call({
    getevents: stream(
      started,
      event(2, "ToolCall", { tool_call_id: "a", function_name: "f", args: {} }),
      event(3, "ToolResult", { tool_call_id: "a", text_result: "nothing", result: null }),
      event(4, "ToolCall", { tool_call_id: "b", function_name: "f", args: {} }),
      event(5, "ToolResult", { tool_call_id: "b", text_result: "something" }),
      completed(6),
    ),
  });
  const results = ofType(events, "ToolResult").filter(({ depth }) => depth > 0);
  expect(results.map(({ result }) => result)).toEqual([null, "something"]);
});

test.each([
  ["call", "ToolCall", { tool_call_id: "t7", function_name: "f", args: {}, attempt: 2 }],
  ["completion", "CompletionCall", { call_id: "t7", model: "m", attempt: 2 }],
] as const)("a %s can be repeated while as many as may be are open", async (_what, type, retry) => {
  const many = { events: 3_000, characters: 10_000_000 };
  const first = Array.from({ length: 1_000 }, (_, index) =>
    event(index + 2, type, { ...retry, tool_call_id: `t${index}`, call_id: `t${index}`, attempt: 1 }),
  );
  const again = event(1_002, type, retry);
  const more = event(1_003, type, { ...retry, tool_call_id: "one more", call_id: "one more", attempt: 1 });

  const events = await call({ getevents: stream(started, ...first, again, completed(1_003)) }, many);
  expect(textsOf(events)).toEqual(["fine"]);
  expect(ofType(events, type).filter(({ attempt = 1 }) => attempt > 1)).toHaveLength(1);

  const refused = await call({ getevents: stream(started, ...first, again, more) }, many);
  expect(textsOf(refused)[0]).toMatch(/^tool_error: agent fiend sent more than 1000 \w+ at a time$/);
});

test("a result that is longer than any here is cut, and what no event can hold is an error", async () => {
  const roomy = { eventBytes: 2_000_000, characters: 4_000_000 };
  const getevents = stream(completed(2, { result: "€".repeat(100_000) }));
  const end = (await call({ getevents }, roomy)).find(({ type }) => type === "ToolResult");
  expect(JSON.stringify(end)).toContain("[cut, 100000 characters in all]");
  expect(Buffer.byteLength(JSON.stringify(end))).toBeLessThan(256 * 1_024);

  const long = stream(event(2, "TextOutput", { content: "€".repeat(100_000) }));
  expect(textsOf(await call({ getevents: long }, roomy))).toEqual([
    "tool_error: a text is larger than 262144 bytes",
  ]);

  const large = stream(completed(2, { result: null, output: { text: "€".repeat(100_000) } }));
  expect(textsOf(await call({ getevents: large }, roomy))).toEqual([
    "tool_error: what agent fiend returned is larger than 262144 bytes",
  ]);
});

test("impossible costs are not added to the turn's usage", async () => {
  const usages = [
    { input_tokens: 3, cost: 0.5 },
    { input_tokens: -1, cost: -2 },
    { cost: 1e308 },
    { cost: 1e308 },
  ];
  const completions = usages.flatMap((usage, index) => [
    event(2 * index + 2, "CompletionCall", { call_id: `c${index}`, model: "m", attempt: 1 }),
    event(2 * index + 3, "CompletionResult", { call_id: `c${index}`, model: "m", usage, result: null }),
  ]);
  const events = await call({ getevents: stream(started, ...completions, completed(20)) });
  expect(events.at(-1)).toMatchObject({ usage: { input_tokens: 3, cost: 0.5 } });
});

test("a server of the plain draft, without our additions, is understood", async () => {
  const bare = (id: number, type: string, fields: object = {}): object => ({
    id,
    run_id: 4,
    agent: "bare",
    type,
    role: "x",
    depth: 0,
    ...fields,
  });
  const events = await call({
    process: json(bare(0, "RequestStarted", { request_id: 17 })),
    getevents: stream(
      bare(0, "RequestStarted", { request_id: 17 }),
      bare(1, "ToolCall", { function_name: "f", args: {} }),
      bare(2, "ToolTextOutput", { content: "half" }),
      bare(3, "ToolResult", { function_name: "f", text_result: "whole" }),
      bare(4, "CompletionCall"),
      bare(5, "CompletionResult"),
      bare(6, "TextOutput", { content: "all in " }),
      bare(7, "TextOutput", { content: "all" }),
      bare(8, "RequestCompleted", { finish_reason: "success" }),
    ),
  });
  checkOrder(events);
  expect(textsOf(events)).toEqual(["all in all"]);
  expect(events.filter(({ depth }) => depth === 1).map(({ type }) => type)).toEqual([
    "ToolCall",
    "ToolTextOutput",
    "ToolResult",
    "CompletionCall",
    "CompletionResult",
    "TextOutput",
    "TextOutput",
  ]);
});

test.each([
  ["never ends", "tool_error: artifact file is larger than 100000 bytes", endless("x".repeat(10_000), 0)],
  ["trickles", "tool_error: agent fiend cannot be reached", endless("x", 20)],
] satisfies readonly (readonly [string, string, Handler])[])(
  "a file that %s ends the call with %j",
  async (_what, end, file) => {
    const getevents = stream(event(2, "ArtifactGenerated", { url: "/file" }));
    expect(textsOf(await call({ getevents, file }))).toEqual([end]);
  },
);

test("an answer with a garbled reply stays open, and the question can be canceled", async () => {
  await using server = await startHostile({
    getevents: stream(started, event(2, "WaitForInput", { request_keys: { a: 1, b: null } })),
    request: json({ status: "waiting", last_event_id: 2 }),
    process: (response, request) =>
      server.asked.length > 2 ? response.end("{") : json(started)(response, request),
  });
  const agents = [remoteAgent(server.url, { limits })];
  const runtime = createRuntime({ agents, environment: hastyEnvironment() });
  const asked = await collect(runtime, "fiend", { type: "ChatRequest", input: "hi" });
  expect(asked.at(-1)).toMatchObject({ type: "WaitForInput", request_keys: { a: "1", b: "" } });
  const requestId = requestOf(asked);
  const answer = { type: "ResumeWithInput", request_id: requestId, request_keys: { a: 1 } } as const;
  await expect(runtime.process("fiend", answer)).rejects.toMatchObject({ code: "unavailable" });
  expect(await runtime.status(requestId)).toMatchObject({ status: "waiting" });
  await runtime.process("fiend", { type: "CancelRequest", request_id: requestId });
  expect(await runtime.status(requestId)).toMatchObject({ finish_reason: "canceled" });
  await runtime.close();
});

test("an abandoned remote request is canceled", async () => {
  await using server = await startHostile({ getevents: endless(":\n\n", 20) });
  const agents = [remoteAgent(server.url, { limits: { ...limits, ...impatient } })];
  const runtime = createRuntime({ agents, environment: hastyEnvironment() });
  await collect(runtime, "fiend", { type: "ChatRequest", input: "hi" });
  const isCancel = (asked: string): boolean => asked.includes('"CancelRequest"');
  await expect.poll(() => server.asked.some(isCancel)).toBe(true);
  await runtime.close();
});

test("two servers that call each other endlessly are stopped", async () => {
  const agents = { ping: "", pong: "" };
  const runtimes = ["ping", "pong"].map((name, index) => {
    const other = index === 0 ? "pong" : "ping";
    const agent = defineAgent({
      name,
      purpose: "Passes on what it gets.",
      async chat(input, turn) {
        const { output } = await turn.call(remoteAgent(agents[other], { name: `far-${other}` }), "chat", {
          input,
        });
        await turn.text(output);
      },
    });
    return createRuntime({ agents: [agent] });
  });
  const { serve } = await import("troupe/node");
  const [ping, pong] = await Promise.all(runtimes.map((runtime) => serve(runtime)));
  agents.ping = `${ping?.url}/ping`;
  agents.pong = `${pong?.url}/pong`;
  const [runtime] = runtimes;
  const events = runtime ? await collect(runtime, "ping", { type: "ChatRequest", input: "ball" }) : [];
  expect(events.at(-1)).toMatchObject({ finish_reason: "error" });
  expect(Math.max(...events.map(({ depth }) => depth))).toBeLessThanOrEqual(8);
  for (const each of runtimes) await each.close();
  await ping?.close();
  await pong?.close();
});

/**
 * Lets an agent call the one at a hostile server; the turn itself must end well, and other turns must work.
 */
async function call(routes: Routes, special: Partial<RemoteLimits> = {}): Promise<readonly Event[]> {
  await using server = await startHostile(routes);
  const fiend = remoteAgent(server.url, { limits: { ...limits, ...special } });
  const caller = defineAgent({
    name: "caller",
    purpose: "Calls it.",
    async chat(input, turn) {
      try {
        await turn.text((await turn.call(fiend, "chat", { input })).output);
      } catch (error) {
        const { message, details } = error as { message: string; details: { facts: { code: string } } };
        await turn.text(`${details.facts.code}: ${message}`);
      }
    },
  });
  const calm = defineAgent({ name: "calm", purpose: "Is calm.", chat: () => "calm" });
  const environment = hastyEnvironment();
  const runtime = createRuntime({ agents: [caller, calm], limits: { artifactBytes: 100_000 }, environment });
  try {
    const [events, others] = await Promise.all([
      collect(runtime, "caller", { type: "ChatRequest", input: "hi" }),
      collect(runtime, "calm", { type: "ChatRequest", input: "hi" }),
    ]);
    expect(others.at(-1)).toMatchObject({ finish_reason: "success" });
    expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
    return events;
  } finally {
    await runtime.close();
  }
}

/** Checks the guarantees of our log for a turn. */
function checkOrder(events: readonly Event[]): void {
  expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
  expect(ofType(events, "RequestStarted")).toHaveLength(1);
  expect(ofType(events, "RequestCompleted")).toHaveLength(1);
  const ends = [...ofType(events, "ToolResult"), ...ofType(events, "ToolError")].map(
    (end) => end.tool_call_id,
  );
  const calls = ofType(events, "ToolCall").filter(({ attempt = 1 }) => attempt === 1);
  expect(ends.toSorted()).toEqual(calls.map((call) => call.tool_call_id).toSorted());
  for (const { depth, parent_call_id: parent } of events) expect(parent !== undefined).toBe(depth > 0);
}

function raw(text: string): Handler {
  return (response) => void open(response).end(text);
}

function redirect(...[response]: Parameters<Handler>): void {
  response.writeHead(302, { location: "http://127.0.0.1:9/" });
  response.end();
}

/** Repeats the same data, with a pause in between. */
function endless(text: string, pauseMs: number): Handler {
  return (response) => {
    open(response);
    const say = (): void => {
      if (response.destroyed) return;
      response.write(text, () => (pauseMs === 0 ? setImmediate(say) : setTimeout(say, pauseMs)));
    };
    say();
  };
}

/** Sends one new event after the other. */
function counting(response: ServerResponse): void {
  open(response);
  let id = 1;
  const say = (): void => {
    if (response.destroyed) return;
    id += 1;
    response.write(frame(event(id, "TextOutput", { content: "more" })), () => setImmediate(say));
  };
  say();
}

function opening(type: string, times: number): Handler {
  const open = Array.from({ length: times }, (_, index) =>
    event(index + 2, type, {
      function_name: "f",
      args: {},
      tool_call_id: `t${index}`,
      request_keys: { a: "?" },
    }),
  );
  return stream(started, ...open);
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}
