import { expect, test } from "vitest";
import { createResponse } from "../../../src/adapters/agentscope/index.ts";
import type { AgentScopeObject, MessageBuilder } from "../../../src/adapters/agentscope/index.ts";
import { anyNumber } from "./harness/objects.ts";

function openMessage(): MessageBuilder {
  const response = createResponse({ sessionId: "s" });
  response.created();
  response.inProgress();
  const message = response.message();
  message.inProgress();
  return message;
}

test("a response is built in the order in which it is sent", () => {
  const response = createResponse({ sessionId: "s1", id: "response_1", now: () => 1_700_000_000_999 });
  const objects: AgentScopeObject[] = [response.created(), response.inProgress()];
  const message = response.message();
  objects.push(message.created(), message.inProgress());
  objects.push(message.addDelta({ type: "text", text: "Hel" }));
  objects.push(message.addDelta({ type: "text", text: "lo" }, 0));
  objects.push(message.contentCompleted(0));
  objects.push(message.addContent({ type: "image", image_url: "https://example.test/a.png" }));
  expect(message.textContent()).toBe("Hello");
  expect(message.imageContents()).toEqual(["https://example.test/a.png"]);
  objects.push(message.completed({ output_tokens: 2 }), response.completed({ output_tokens: 2 }));

  expect(objects.map(({ sequence_number }) => sequence_number)).toEqual(objects.map((_, index) => index));
  expect(objects.map(({ object, status }) => `${object} ${status}`)).toEqual([
    "response created",
    "response in_progress",
    "message created",
    "message in_progress",
    "content in_progress",
    "content in_progress",
    "content completed",
    "content completed",
    "message completed",
    "response completed",
  ]);
  expect(objects[4]).toEqual({
    sequence_number: 4,
    object: "content",
    status: "in_progress",
    error: null,
    type: "text",
    index: 0,
    delta: true,
    msg_id: message.id,
    text: "Hel",
  });
  expect(objects[6]).toMatchObject({ delta: false, index: 0, text: "Hello" });
  expect(objects[9]).toEqual({
    sequence_number: 9,
    object: "response",
    status: "completed",
    error: null,
    id: "response_1",
    created_at: 1_700_000_000,
    completed_at: 1_700_000_000,
    output: [objects[8]],
    usage: { output_tokens: 2 },
    session_id: "s1",
  });
});

test("two responses have ids of their own", () => {
  const ids = [1, 2].map(() => createResponse({ sessionId: "s" }).id);
  expect(ids[0]).toMatch(/^response_[\w-]{36}$/);
  expect(ids[0]).not.toBe(ids[1]);
});

test("a content is created, begun, replaced and ended with its whole value", () => {
  const content = openMessage().content({ type: "data", data: {} });
  expect(content.created()).toMatchObject({ status: "created", delta: false });
  expect(content.inProgress({ type: "data", data: { arguments: "" } })).toMatchObject({ delta: false });
  expect(content.inProgress({ type: "data", data: { arguments: "{}" } })).toMatchObject({
    status: "in_progress",
    data: { arguments: "{}" },
  });
  expect(content.completed()).toMatchObject({ status: "completed", data: { arguments: "{}" } });
});

test("deltas of data are merged: texts and lists are joined, numbers added, objects merged", () => {
  const message = openMessage();
  message.addDelta({ type: "data", data: { a: "x", n: 1, l: [1], o: { p: "q" }, b: true } });
  message.addDelta(
    { type: "data", data: { a: "y", n: 2, l: [2], o: { p: "r", s: 1 }, b: false, c: null } },
    0,
  );
  expect(message.contentCompleted(0)).toMatchObject({
    data: { a: "xy", n: 3, l: [1, 2], o: { p: "qr", s: 1 }, b: false, c: null },
  });
});

test.each([
  ["failed", (message: MessageBuilder) => message.failed({ code: "TIMEOUT", message: "too slow" })],
  ["canceled", (message: MessageBuilder) => message.canceled()],
  ["rejected", (message: MessageBuilder) => message.rejected({ code: "NO", message: "not allowed" })],
])("a message can end as %s with what it has", (status, end) => {
  const message = openMessage();
  message.addContent({ type: "text", text: "so far" });
  expect(end(message)).toMatchObject({ status, content: [{ text: "so far" }] });
});

test("a response can be failed, canceled or rejected", () => {
  const begun = () => {
    const response = createResponse({ sessionId: "s" });
    response.inProgress();
    return response;
  };
  const error = { code: "AGENT_ERROR", message: "it broke" };
  expect(begun().failed(error)).toMatchObject({ status: "failed", error, completed_at: anyNumber });
  expect(begun().canceled()).toMatchObject({ status: "canceled", output: [] });
  expect(createResponse({ sessionId: "s" }).rejected(error)).toMatchObject({ status: "rejected", error });
});

test("a withdrawn message is not in the output", () => {
  const response = createResponse({ sessionId: "s" });
  response.inProgress();
  const first = response.message();
  first.inProgress();
  expect(() => response.withdraw(first)).toThrow(/has not ended/);
  first.failed({ code: "AGAIN", message: "it is repeated" });
  response.withdraw(first);
  const second = response.message();
  second.inProgress();
  second.addContent({ type: "text", text: "" });
  const last = second.completed();
  expect(response.completed().output).toEqual([last]);
});

test.each([
  [
    "a delta into a content that does not exist",
    () => openMessage().addDelta({ type: "text", text: "x" }, 0),
    /has no open content 0/,
  ],
  [
    "a delta into a completed content",
    () => {
      const message = openMessage();
      message.addDelta({ type: "text", text: "x" });
      message.contentCompleted(0);
      message.addDelta({ type: "text", text: "y" }, 0);
    },
    /has no open content 0/,
  ],
  [
    "a delta of another type",
    () => {
      const message = openMessage();
      message.addDelta({ type: "text", text: "x" });
      message.addDelta({ type: "data", data: {} }, 0);
    },
    /a data delta cannot be added to a text content/,
  ],
  [
    "a content completed twice",
    () => {
      const message = openMessage();
      message.addDelta({ type: "text", text: "x" });
      message.contentCompleted(0);
      message.contentCompleted(0);
    },
    /has already ended as completed/,
  ],
  ["the end of an unknown content", () => openMessage().contentCompleted(3), /has no content 3/],
  [
    "the end of a message with an open content",
    () => {
      const message = openMessage();
      message.addDelta({ type: "text", text: "x" });
      message.completed();
    },
    /content 0 .* has not ended/,
  ],
  [
    "a second end of a message",
    () => {
      const message = openMessage();
      message.completed();
      message.canceled();
    },
    /has already ended as completed/,
  ],
  [
    "a delta after the end",
    () => {
      const message = openMessage();
      message.completed();
      message.addDelta({ type: "text", text: "x" });
    },
    /has already ended as completed/,
  ],
  [
    "a message that has not begun",
    () => {
      const response = createResponse({ sessionId: "s" });
      response.inProgress();
      response.message().addDelta({ type: "text", text: "x" });
    },
    /has not begun/,
  ],
  [
    "a message of a response that has not begun",
    () => createResponse({ sessionId: "s" }).message(),
    /has not begun/,
  ],
  [
    "the end of a response with an open message",
    () => {
      const response = createResponse({ sessionId: "s" });
      response.inProgress();
      response.message().inProgress();
      response.failed({ code: "X", message: "x" });
    },
    /message .* has not ended/,
  ],
  [
    "a second end of a response",
    () => {
      const response = createResponse({ sessionId: "s" });
      response.inProgress();
      response.canceled();
      response.completed();
    },
    /has already ended as canceled/,
  ],
  [
    "the end of an empty response",
    () => {
      const response = createResponse({ sessionId: "s" });
      response.inProgress();
      response.completed();
    },
    /has no message/,
  ],
  [
    "a second creation",
    () => {
      const response = createResponse({ sessionId: "s" });
      response.created();
      response.created();
    },
    /was created before/,
  ],
  [
    "a second beginning",
    () => {
      const response = createResponse({ sessionId: "s" });
      response.inProgress();
      response.inProgress();
    },
    /has begun before/,
  ],
])("the builders refuse %s", (_, build, message) => {
  expect(build).toThrow(message);
});
