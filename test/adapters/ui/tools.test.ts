import { expect, test } from "vitest";
import { assistant } from "../../../agents/assistant.ts";
import { echo } from "../../../agents/echo.ts";
import { textIn, UiServer } from "./harness/server.ts";
import type { UiChat } from "./harness/server.ts";

const tools = ["lamp", "clock"].map((name) => ({ name, input_schema: { type: "object" } }));
const BOTH = 'call lamp with {"on":true} and call clock';

interface ToolPart {
  readonly type: string;
  readonly toolCallId: string;
  readonly state: string;
}

/** Does what `addToolOutput` does in a page. */
function output(chat: UiChat, name: string, end: object): ReturnType<UiChat["answer"]> {
  return chat.answer((part: ToolPart) => (part.type === `tool-${name}` ? { ...part, ...end } : undefined));
}

const partsOf = (chat: UiChat): readonly unknown[] =>
  chat.last.parts.filter(({ type }) => type.startsWith("tool-") || type === "data-wait");

test("the tools of a page are parts of their own, and their outputs go on in the same message", async () => {
  await using server = await UiServer.start([assistant]);
  const chat = server.chat("assistant", "chat-1", {}, { tools });
  const asked = await chat.say(BOTH);
  expect(partsOf(chat)).toMatchObject([
    { type: "tool-lamp", state: "input-available", input: { on: true } },
    { type: "tool-clock", state: "input-available", input: {} },
  ]);
  await output(chat, "lamp", { state: "output-available", output: { result: 1 } });
  expect(partsOf(chat)).toMatchObject([{ state: "output-available" }, { state: "input-available" }]);
  const said = await output(chat, "clock", { state: "output-error", errorText: "no battery" });
  expect(said.id).toBe(asked.id);
  expect(partsOf(chat)).toMatchObject([
    { state: "output-available", output: { result: 1 } },
    { state: "output-error", errorText: "no battery" },
  ]);
  expect(textIn(said)).toBe('lamp: {"result":1}\nclock: no battery');

  // Another reader sees the same.
  const { run_id: runId } = said.metadata as { readonly run_id: string };
  const events = (await (await fetch(`${server.url}/events/${runId}?since=0`)).json()) as { type: string }[];
  expect(events.filter(({ type }) => type === "RequestStarted")).toHaveLength(1);
});

test("a reload shows the open calls again, and what is typed is no result", async () => {
  await using server = await UiServer.start([assistant], { durable: true });
  const chat = server.chat("assistant", "chat-1", {}, { tools });
  const asked = await chat.say("call clock");
  await server.restart();
  expect(await chat.resume()).toEqual(asked);
  await expect(chat.say("noon")).rejects.toMatchObject({ statusCode: 409 });
  chat.messages.pop();
  await output(chat, "clock", { state: "output-available", output: "noon" });
  expect(textIn(chat.last)).toBe("clock: noon");
  const late = server.chat("assistant", "chat-1");
  late.messages = [asked];
  // Two tabs may both run a tool: the first output counts, and both show it.
  await output(late, "clock", { state: "output-available", output: "night" });
  expect(partsOf(late)).toMatchObject([{ state: "output-available", output: "noon" }]);
  expect(textIn(late.last)).toBe("clock: noon");
});

test("tools that are none, or have the name of one of the agent, are refused", async () => {
  await using server = await UiServer.start([assistant, echo]);
  const say = { id: "c", messages: [{ role: "user", parts: [{ type: "text", text: "hi" }] }] };
  for (const wrong of [[{ name: "a b" }], [{}], ["lamp"], { lamp: {} }, [{ name: "payments__pay" }]]) {
    const refused = await server.post("/ui/assistant", { ...say, tools: wrong });
    expect([refused.status, await refused.text()]).toEqual([422, expect.stringMatching(/tool/)]);
  }
  expect((await server.post("/ui/echo", { ...say, tools })).status).toBe(200);
});
