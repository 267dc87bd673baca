// The events of a misbehaving remote agent affect only the call that was made to it.
import { createRuntime, defineAgent } from "troupe";
import { remoteAgent } from "troupe/client";
import type { RemoteLimits } from "troupe/client";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { ofType, requestOf, textsOf } from "../../../agents/events.ts";
import { limits, started, call, checkOrder, endless, impatient, patient } from "./fiend.ts";
import { hastyEnvironment } from "../../hasty.ts";
import { completed, event, json, startHostile, stream } from "../../hostile-server.ts";
import type { Handler } from "../../hostile-server.ts";

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

test("a callee of an unknown kind or form is dropped, and its call stays", async () => {
  const events = await call({
    getevents: stream(
      started,
      ...[{ kind: "spy", name: "f" }, "f", { kind: "tool" }, { kind: "agent", name: "g" }].map(
        (callee, index) =>
          event(index + 2, "ToolCall", { tool_call_id: `t${index}`, function_name: "f", args: {}, callee }),
      ),
      completed(6),
    ),
  });
  const calls = ofType(events, "ToolCall").filter(({ depth }) => depth > 0);
  expect(calls.map(({ callee }) => callee)).toEqual([
    undefined,
    undefined,
    { kind: "tool", name: "tool" },
    { kind: "agent", name: "g" },
  ]);
});

test("a deadline is the same here, and one of another form is dropped", async () => {
  const at = "2026-01-31T12:00:00.000Z";
  const events = await call({
    getevents: stream(
      started,
      ...[at, "soon", "2026-99-99T12:00:00.000Z", 7].map((expires, index) =>
        event(index + 2, "ToolCall", {
          tool_call_id: `t${index}`,
          function_name: "f",
          args: {},
          expires_at: expires,
        }),
      ),
      event(6, "CompletionCall", { call_id: "c", model: "m", attempt: 1, expires_at: at }),
      event(7, "CompletionResult", { call_id: "c", model: "m", error: "late", error_code: "timeout" }),
      completed(8),
    ),
  });
  const calls = ofType(events, "ToolCall").filter(({ depth }) => depth > 0);
  expect(calls.map(({ expires_at: expires }) => expires)).toEqual([at, undefined, undefined, undefined]);
  expect(ofType(events, "CompletionCall").map(({ expires_at: expires }) => expires)).toEqual([at]);
  expect(ofType(events, "CompletionResult").map(({ error_code: code }) => code)).toEqual(["timeout"]);
});

test("transitions, sleeps and emitted events of another form are dropped, or lose what no event can hold", async () => {
  const change = { value: "on", cause: "go", steps: [], status: "active", chart: "c" };
  const step = { from: "off", event: "go", to: "on" };
  const events = await call({
    getevents: stream(
      started,
      event(2, "StateChanged", { ...change, status: "sleepy" }),
      event(3, "StateChanged", { ...change, value: undefined }),
      event(4, "StateChanged", { ...change, steps: "many" }),
      event(5, "StateChanged", { ...change, steps: [1, {}, step, { ...step, event: 7 }], machine: 3 }),
      event(6, "StateChanged", { ...change, cause: null, steps: Array.from({ length: 40 }, () => step) }),
      event(7, "Sleeping", { call_id: "s", until: "soon" }),
      event(8, "Custom", { name: 7 }),
      completed(9),
    ),
  });
  const inside = events.filter(({ depth, type }) => depth > 0 && type !== "TextOutput");
  expect(inside).toMatchObject([
    { type: "StateChanged", cause: "go", steps: [step, { from: "off", to: "on" }] },
    { type: "StateChanged", cause: "", steps_truncated: true },
    { type: "Custom", name: "event", body: null },
  ]);
  expect(inside[0]).not.toHaveProperty("machine");
  expect(ofType(inside, "StateChanged")[1]?.steps).toHaveLength(32);
  expect(textsOf(events)).toEqual(["fine"]);
});

test("a transition that no event here can hold ends the call", async () => {
  const roomy = { eventBytes: 2_000_000, characters: 4_000_000 };
  const change = {
    value: ["x".repeat(130_000), "x".repeat(131_000)],
    cause: "go",
    steps: [],
    status: "active",
    chart: "c",
  };
  expect(
    textsOf(await call({ getevents: stream(started, event(2, "StateChanged", change)) }, roomy)),
  ).toEqual(["tool_error: a transition of a remote machine is larger than 260096 bytes"]);
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
  [
    "never ends",
    "tool_error: artifact file is larger than 100000 bytes",
    endless("x".repeat(10_000), 0),
    patient,
  ],
  ["trickles", "tool_error: agent fiend cannot be reached", endless("x", 20), {}],
] satisfies readonly (readonly [string, string, Handler, Partial<RemoteLimits>])[])(
  "a file that %s ends the call with %j",
  async (_what, end, file, special) => {
    const getevents = stream(event(2, "ArtifactGenerated", { url: "/file" }));
    expect(textsOf(await call({ getevents, file }, special))).toEqual([end]);
  },
);

test("an answer with a garbled reply stays and the question can be canceled", async () => {
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
