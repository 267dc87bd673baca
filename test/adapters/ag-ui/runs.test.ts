import { afterEach, expect, test, vi } from "vitest";
import { assistant } from "../../../agents/assistant.ts";
import { notebook } from "../../../agents/notebook.ts";
import { payments } from "../../../agents/payments.ts";
import { team } from "../../../agents/team.ts";
import { forecaster, mirror, publisher, returning, thinker, thrower } from "../agentscope/harness/agents.ts";
import { AgUiServer, endOf, saidIn, typesOf } from "./server.ts";

// The client warns of everything that is not of the protocol.
const warn = vi.spyOn(console, "warn");
afterEach(() => {
  const said = warn.mock.calls.splice(0);
  if (said.length > 0) throw new Error(`the client warned: ${said.join("\n")}`);
});

test("a text, with the ids of the client and of the log", async () => {
  await using server = await AgUiServer.start([returning]);
  const thread = server.thread("returning");
  const events = await thread.say("hi", { runId: "run-1" });
  expect(typesOf(events)).toEqual([
    "RUN_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "RUN_FINISHED",
  ]);
  expect(events[0]).toMatchObject({ threadId: "thread-1", runId: "run-1", protocolVersion: "1.0" });
  expect(events.at(-1)).toMatchObject({
    runId: "run-1",
    result: "You said hi.",
    outcome: { type: "success" },
  });
  expect(thread.said).toBe("You said hi.");
  expect(thread.client.messages.map(({ role, content }) => [role, content])).toEqual([
    ["user", "hi"],
    ["assistant", "You said hi."],
  ]);
  const runId = await server.runtime.find("returning", "ag-ui:thread-1");
  expect(events[0]).toMatchObject({ metadata: { run_id: runId, request_id: "run-1", agent: "returning" } });
  expect((await server.runtime.status("run-1")).run_id).toBe(runId);
});

test("reasoning, steps, a tool with its result, and usage", async () => {
  await using server = await AgUiServer.start([thinker, forecaster]);
  const thread = server.thread("thinker");
  const events = await thread.say("hi");
  expect(typesOf(events).filter((type) => !type.endsWith("CONTENT"))).toEqual([
    "RUN_STARTED",
    "STEP_STARTED",
    "REASONING_START",
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_END",
    "REASONING_END",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_END",
    "STEP_FINISHED",
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "TOOL_CALL_RESULT",
    "STEP_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_END",
    "STEP_FINISHED",
    "RUN_FINISHED",
  ]);
  expect(thread.said).toBe("I ask. It is 4 degrees.");
  expect(events.at(-1)).toMatchObject({ usage: [{ inputTokens: expect.any(Number) as number }] });
  expect(thread.client.messages.map(({ role }) => role)).toEqual([
    "user",
    "reasoning",
    "assistant",
    "assistant",
    "tool",
    "assistant",
  ]);
  const failed = await server.thread("forecaster").say("Atlantis");
  expect(failed.find(({ type }) => type === "TOOL_CALL_RESULT")).toMatchObject({
    content: "there is no such city",
    metadata: { is_error: true },
  });
});

test("sub-agents, each within the one that has called it", async () => {
  await using server = await AgUiServer.start([team]);
  const thread = server.thread("team");
  const events = await thread.say("tea");
  const begun = events.filter((event) => event.type === "SUBAGENT_STARTED");
  expect(begun).toMatchObject([
    { name: "researcher" },
    { name: "summarizer", parentSubagentRunId: begun[0]?.subagentRunId },
  ]);
  expect(events.filter(({ type }) => type === "SUBAGENT_FINISHED")).toMatchObject([
    { subagentRunId: begun[1]?.subagentRunId, outcome: { type: "success" } },
    { subagentRunId: begun[0]?.subagentRunId, outcome: { type: "success" } },
  ]);
  const messages = thread.client.messages.filter(({ role }) => role === "assistant");
  expect(messages.map(({ subagentRunId }) => subagentRunId)).toEqual([
    begun[1]?.subagentRunId,
    begun[0]?.subagentRunId,
    undefined,
  ]);
  expect(thread.said).toMatch(/^About tea/);
});

test("a turn that fails", async () => {
  await using server = await AgUiServer.start([thrower]);
  const thread = server.thread("thrower");
  const events = await thread.say("hi");
  expect(saidIn(events)).toBe("so far ");
  expect(events.at(-1)).toMatchObject({
    type: "RUN_ERROR",
    message: expect.stringContaining("it broke") as string,
  });
  // The message that was not answered is known; the next one alone is new.
  await thread.say("again");
  const inputs = (
    await server.runtime.read(
      await server.runtime.resolve((await server.runtime.find("thrower", "ag-ui:thread-1")) ?? ""),
      { after: 0 },
    )
  ).events
    .map((text) => JSON.parse(text) as { readonly type: string; readonly input?: string })
    .flatMap(({ type, input }) => (type === "RequestStarted" ? [input] : []));
  expect(inputs).toEqual(["hi", "again"]);
});

test("files that an agent makes are activities with an address", async () => {
  await using server = await AgUiServer.start([publisher]);
  const thread = server.thread("publisher");
  const files = (await thread.say("hi")).filter((event) => event.type === "ACTIVITY_SNAPSHOT");
  expect(files.map(({ activityType }) => activityType)).toEqual(Array(4).fill("artifact"));
  const contents = files.map(({ content }) => content as { readonly name: string; readonly url: string });
  expect(contents.map(({ name }) => name)).toEqual(["a.png", "a.mp3", "a.mp4", "a.pdf"]);
  expect(await (await fetch(contents[0]?.url ?? "")).text()).toBe("png");
});

test("files of a client are attachments, and its state, context and properties reach the agent", async () => {
  await using server = await AgUiServer.start([mirror]);
  const thread = server.thread("mirror");
  thread.client.state = { page: 3 };
  const url = "https://example.com/x.png";
  thread.client.messages = [
    { id: "0", role: "system", content: "Be brief." },
    { id: "1", role: "user", content: "before" },
    { id: "2", role: "assistant", content: "yes?" },
    {
      id: "3",
      role: "user",
      content: [
        { type: "text", text: "look" },
        {
          type: "document",
          source: { type: "data", value: "aGk=", mimeType: "text/plain" },
          metadata: { filename: "a.txt" },
        },
        { type: "image", source: { type: "url", value: url } },
        { type: "document", source: { type: "url", value: "data:text/plain;base64,aG8=" } },
      ],
    },
  ];
  const tools = [{ name: "open", description: "Opens a page.", parameters: { type: "object" } }];
  const context = [{ description: "zone", value: "UTC" }];
  await thread.run({ tools, context, forwardedProps: { a: 1 } });
  expect(JSON.parse(thread.said)).toEqual({
    input: "look",
    metadata: {
      state: { page: 3 },
      context,
      forwardedProps: { a: 1 },
      tools: [{ name: "open", description: "Opens a page.", input_schema: { type: "object" } }],
      content: [{ type: "image", source: { type: "url", value: url } }],
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "before" },
        { role: "assistant", content: "yes?" },
      ],
    },
    files: [
      { name: "a.txt", type: "text/plain", text: "hi" },
      { name: "document-4", type: "text/plain", text: "ho" },
    ],
  });
});

test("tools of the client are called, and their results go on in the same turn", async () => {
  await using server = await AgUiServer.start([assistant]);
  const thread = server.thread("assistant");
  const tools = [
    { name: "clock", description: "Tells the time.", parameters: { type: "object" } },
    { name: "map", description: "Shows a place." },
  ];
  const asked = await thread.say('call clock with {"zone":"UTC"} and call map', { tools });
  const calls = asked.filter((event) => event.type === "TOOL_CALL_START");
  expect(calls.map(({ toolCallName }) => toolCallName)).toEqual(["clock", "map"]);
  const pendingToolCallIds = calls.map(({ toolCallId }) => toolCallId);
  expect(endOf(asked)).toEqual({ type: "success", pendingToolCallIds });
  const [clock = "", map = ""] = pendingToolCallIds;
  thread.client.messages.push(
    { id: "t1", role: "tool", toolCallId: clock, content: "12:00" },
    { id: "t2", role: "tool", toolCallId: map, content: "", error: "no map" },
  );
  expect(endOf(await thread.run({ tools }))).toEqual({ type: "success" });
  expect(thread.said).toMatch(/clock: 12:00\nmap: .*no map/);
});

test("the memory of the agent is the state of the page", async () => {
  await using server = await AgUiServer.start([notebook], { options: { state: true } });
  const thread = server.thread("notebook");
  await thread.say("milk");
  const events = await thread.say("tea");
  expect(thread.client.state).toEqual(["milk", "tea"]);
  expect(typesOf(events).slice(-2)).toEqual(["STATE_SNAPSHOT", "RUN_FINISHED"]);
  // A run that is read again has the memory as it was at its end.
  const [first] = await server.runtime
    .requests((await server.runtime.find("notebook", "ag-ui:thread-1")) ?? "")
    .then((list) => list.toReversed());
  expect(await thread.reread(`?runId=${first?.request_id}`)).toContain('"snapshot":["milk"]');
});

test("a question of a sub-agent suspends it, and the answer continues it", async () => {
  await using server = await AgUiServer.start([team, payments]);
  const thread = server.thread("team");
  const asked = await thread.say("buy tea for 3");
  const begun = asked.find((event) => event.type === "SUBAGENT_STARTED");
  const [interrupt] = thread.interrupts;
  expect(interrupt).toMatchObject({
    reason: "input_required",
    message: "Pay 3 to the shop?",
    subagentRunId: begun?.subagentRunId,
    responseSchema: { properties: { approved: { type: "boolean" } } },
  });
  expect(asked.find(({ type }) => type === "SUBAGENT_FINISHED")).toMatchObject({
    subagentRunId: begun?.subagentRunId,
    outcome: { type: "suspended", interruptIds: [interrupt?.id] },
  });
  const paid = await thread.resume([{ approved: true }]);
  expect(paid.find(({ type }) => type === "SUBAGENT_STARTED")).toMatchObject({
    subagentRunId: begun?.subagentRunId,
  });
  expect(paid.find(({ type }) => type === "SUBAGENT_FINISHED")).toMatchObject({
    subagentRunId: begun?.subagentRunId,
    outcome: { type: "success" },
  });
  expect(thread.said).toBe("Bought tea, receipt the shop:3.");
});
