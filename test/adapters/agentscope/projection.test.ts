import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { interviewer } from "../../../agents/interviewer.ts";
import { payments } from "../../../agents/payments.ts";
import type { AgentScopeObject } from "../../../src/adapters/agentscope/index.ts";
import * as agents from "./harness/agents.ts";
import {
  anyNumber,
  anyText,
  checkResponse,
  contentsOf,
  dataOf,
  lastOf,
  messagesOf,
  textsOf,
} from "./harness/objects.ts";
import { ProjectedTurn } from "./harness/projected.ts";

function outline(objects: readonly AgentScopeObject[]): string[] {
  return objects.map((object) =>
    object.object === "message"
      ? `${object.type} ${object.status}`
      : object.object === "content"
        ? `  ${object.type} ${object.delta ? "delta" : object.status}`
        : `response ${object.status}`,
  );
}

test("a text becomes one message with one content", async () => {
  await using turn = await ProjectedTurn.start(echo, "hello there");
  const objects = await turn.objects();
  checkResponse(objects);
  expect(outline(objects)).toEqual([
    "response created",
    "response in_progress",
    "message in_progress",
    "  text delta",
    "  text delta",
    "  text completed",
    "message completed",
    "response completed",
  ]);
  expect(textsOf(lastOf(objects))).toEqual(["hello there"]);
});

test("thoughts, texts, calls and outputs are messages of their own, in the order of the log", async () => {
  await using turn = await ProjectedTurn.start(agents.thinker, "How warm is Oslo?");
  const objects = await turn.objects();
  checkResponse(objects);
  expect(messagesOf(objects).map(({ type, status, role }) => `${type} ${status} ${role ?? ""}`)).toEqual([
    "reasoning in_progress assistant",
    "reasoning completed assistant",
    "message in_progress assistant",
    "message completed assistant",
    "plugin_call in_progress assistant",
    "plugin_call completed assistant",
    "plugin_call_output in_progress tool",
    "plugin_call_output completed tool",
    "message in_progress assistant",
    "message completed assistant",
  ]);
  const [call] = dataOf(lastOf(objects), "plugin_call");
  const [output] = dataOf(lastOf(objects), "plugin_call_output");
  expect(call).toEqual({ call_id: anyText, name: "weather", arguments: '{"city":"Oslo"}' });
  expect(output).toEqual({ call_id: call?.["call_id"], name: "weather", output: '{"degrees":4}' });
});

test("the progress of a tool is the growing output of its call", async () => {
  await using turn = await ProjectedTurn.start(agents.forecaster, "Oslo");
  const outputs = contentsOf(await turn.objects()).filter(({ type }) => type === "data");
  expect(outputs.map((content) => (content.type === "data" ? content.data["output"] : ""))).toEqual([
    undefined,
    "asking ",
    "asking the station",
    '{"degrees":4}',
  ]);
  expect(outputs.slice(1).map(({ status }) => status)).toEqual(["in_progress", "in_progress", "completed"]);
});

test("the output of a called agent grows by a quarter at a time, so its objects stay few", async () => {
  await using turn = await ProjectedTurn.start(agents.boss, "go");
  const objects = await turn.objects();
  checkResponse(objects);
  const outputs = contentsOf(objects).flatMap((content) =>
    content.type === "data" && typeof content.data["output"] === "string"
      ? content.data["output"].length
      : [],
  );
  expect(outputs.at(-1)).toBe(400);
  expect(outputs.length).toBeLessThan(25);
  expect(outputs.reduce((sum, length) => sum + length)).toBeLessThan(5 * 400 + 400);
});

test("a question in a called agent parks the response, and the next one has the output of the call", async () => {
  await using turn = await ProjectedTurn.start(agents.boss, "go");
  const first = await turn.objects();
  const [asked] = dataOf(lastOf(first), "mcp_approval_request");
  expect(asked).toEqual({
    id: anyText,
    name: "approved",
    arguments: '{"approved":"May I help?"}',
    server_label: "helper",
  });
  await turn.answer(Number(asked?.["id"]), { approved: true });
  const resumed = (await turn.events()).find(({ type }) => type === "ResumeWithInput");
  const second = await turn.objects(resumed?.id);
  checkResponse(second);
  expect(await turn.objects()).toEqual(first);
  expect(dataOf(lastOf(second), "plugin_call_output")).toEqual([
    { call_id: anyText, name: "helper", output: '{"done":true}' },
  ]);
  expect(textsOf(lastOf(second))).toEqual(["Helped."]);
});

test("a failed tool has a failed output and the response completes", async () => {
  await using turn = await ProjectedTurn.start(agents.forecaster, "Atlantis");
  const objects = await turn.objects();
  checkResponse(objects);
  expect(messagesOf(objects).find(({ status }) => status === "failed")).toMatchObject({
    type: "plugin_call_output",
    error: { code: "TOOL_EXECUTION_FAILED", message: "there is no such city" },
    code: "TOOL_EXECUTION_FAILED",
    message: "there is no such city",
  });
  expect(lastOf(objects).status).toBe("completed");
});

test("the text of a repeated completion replaces the interrupted one in the output", async () => {
  await using turn = await ProjectedTurn.start(agents.stutterer(), "go");
  const objects = await turn.objects();
  const ends = messagesOf(objects).filter(({ status }) => status !== "in_progress");
  expect(ends.map(({ type, status }) => `${type} ${status}`)).toEqual([
    "reasoning completed",
    "message failed",
    "reasoning completed",
    "message completed",
  ]);
  expect(lastOf(objects).output).toEqual(ends.slice(2));
  expect(textsOf(lastOf(objects))).toEqual(["It is four."]);
});

test("a text that is returned and not sent is the text of the response", async () => {
  await using turn = await ProjectedTurn.start(agents.returning, "hello");
  const objects = await turn.objects();
  checkResponse(objects);
  expect(textsOf(lastOf(objects))).toEqual(["You said hello."]);
});

test("a text that is returned after an answer is the text of the second response", async () => {
  await using turn = await ProjectedTurn.start(agents.form, "go");
  const first = await turn.objects();
  expect(textsOf(lastOf(first))).toEqual(["Before. ", "Your name?\nYour age?"]);
  const wait = (await turn.events()).find(({ type }) => type === "WaitForInput");
  await turn.answer(wait?.id ?? 0, { name: "Ada", age: 36 });
  const resumed = (await turn.events()).find(({ type }) => type === "ResumeWithInput");
  expect(textsOf(lastOf(await turn.objects(resumed?.id)))).toEqual(["Ada is 36"]);
});

test("a response without a text of its own does not repeat that of an earlier one", async () => {
  await using turn = await ProjectedTurn.start(agents.terse, "go");
  const wait = (await turn.events()).find(({ type }) => type === "WaitForInput");
  await turn.answer(wait?.id ?? 0, { name: "Ada" });
  const resumed = (await turn.events()).find(({ type }) => type === "ResumeWithInput");
  expect(textsOf(lastOf(await turn.objects(resumed?.id)))).toEqual([""]);
});

test("a response that leaves an older question open asks it again", async () => {
  await using turn = await ProjectedTurn.start(interviewer, "go");
  const waits = (await turn.events()).filter(({ type }) => type === "WaitForInput").map(({ id }) => id);
  expect(textsOf(lastOf(await turn.objects()))).toEqual([
    "What is your name?",
    "What is your favourite colour?",
  ]);
  await turn.answer(waits[1] ?? 0, { colour: "blue" });
  const second = async () => {
    const resumed = (await turn.events()).find(({ type }) => type === "ResumeWithInput");
    return turn.objects(resumed?.id);
  };
  const before = await second();
  checkResponse(before);
  expect(textsOf(lastOf(before))).toEqual(["What is your name?"]);
  expect(messagesOf(before)[0]?.metadata).toEqual({
    wait_for_input: {
      request_id: anyText,
      wait_id: waits[0],
      request_keys: { name: "What is your name?" },
    },
  });
  await turn.answer(waits[0] ?? 0, { name: "Ada" });
  // A later reader of the second response gets the same.
  expect(await second()).toEqual(before);
  const last = (await turn.events()).findLast(({ type }) => type === "ResumeWithInput");
  expect(textsOf(lastOf(await turn.objects(last?.id)))).toEqual(["Ada likes blue."]);
});

test("a canceled request ends its response as canceled", async () => {
  await using turn = await ProjectedTurn.start(payments, "pay 3 to bob");
  await turn.cancel();
  const objects = await turn.objects();
  checkResponse(objects);
  expect(lastOf(objects)).toMatchObject({ status: "canceled", completed_at: anyNumber });
});

test("equal events give equal objects", async () => {
  await using turn = await ProjectedTurn.start(agents.thinker, "go");
  expect(await turn.objects()).toEqual(await turn.objects());
});
