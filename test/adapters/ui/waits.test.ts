import { defineAgent } from "troupe";
import { createClient } from "troupe/client";
import { expect, test } from "vitest";
import { z } from "zod";
import { interviewer } from "../../../agents/interviewer.ts";
import { payments } from "../../../agents/payments.ts";
import { team } from "../../../agents/team.ts";
import { textIn, toolsIn, UiServer } from "./harness/server.ts";
import type { UiChat } from "./harness/server.ts";

const isAsking = (chat: UiChat): boolean =>
  chat.last.parts.some((part) => part.type === "dynamic-tool" && part.state === "approval-requested");

test("a denial is shown as one, and its reason reaches an agent that takes one", async () => {
  const asker = defineAgent({
    name: "asker",
    purpose: "Asks.",
    async chat(_input, turn) {
      const asked = z.object({ sure: z.boolean().describe("Sure?"), reason: z.string().optional() });
      const { sure, reason } = await turn.waitForInput(asked);
      await turn.text(`${sure} ${reason}`);
    },
  });
  await using server = await UiServer.start([asker]);
  const chat = server.chat("asker");
  await chat.say("go");
  const told = await chat.approve(false, "too dear");
  expect(toolsIn(told)).toMatchObject([{ state: "output-denied", approved: false }]);
  expect(textIn(told)).toBe("false too dear");
});

test("a text that answers a question begins a message, and the question stays where it was", async () => {
  await using server = await UiServer.start([payments]);
  const chat = server.chat("payments");
  const asked = await chat.say("pay 30 to bob");
  const paid = await chat.say("yes");
  expect(paid.id).not.toBe(asked.id);
  expect(chat.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  expect(textIn(paid)).toBe("Paid 30 to bob.");
  // The same message again is the same answer.
  const bytes = chat.text;
  chat.messages.pop();
  await chat.read(await chat.open());
  expect(chat.text).toBe(bytes);
});

test("two questions are answered by the outputs of their tools, in any order, and by text", async () => {
  await using server = await UiServer.start([interviewer]);
  const chat = server.chat("interviewer");
  const asked = await chat.say("go");
  expect(toolsIn(asked).map(({ input }) => input)).toEqual([
    { question: "What is your name?" },
    { question: "What is your favourite colour?" },
  ]);
  expect(asked.parts.filter(({ type }) => type === "data-wait")).toMatchObject([
    { data: { questions: { name: "What is your name?" }, schema: { type: "object" }, state: "open" } },
    { data: { questions: { colour: "What is your favourite colour?" }, state: "open" } },
  ]);
  const half = await chat.output("colour", { colour: "blue" });
  expect(toolsIn(half).map(({ state }) => state)).toEqual(["input-available", "output-available"]);
  expect(half.parts.filter(({ type }) => type === "data-wait")).toMatchObject([
    { data: { state: "open" } },
    { data: { state: "answered" } },
  ]);
  expect(textIn(await chat.output("name", "Ada"))).toBe("Ada likes blue.");

  const other = server.chat("interviewer", "chat-2");
  await other.say("go");
  await other.say("Ada");
  expect(textIn(await other.say("green"))).toBe("Ada likes green.");
  expect(other.messages.filter(({ role }) => role === "assistant")).toHaveLength(3);
});

test("an answer that does not fit is refused and leaves the question open", async () => {
  await using server = await UiServer.start([interviewer, payments]);
  const chat = server.chat("interviewer");
  await chat.say("go");
  await expect(chat.output("name", { colour: "red" })).rejects.toMatchObject({ statusCode: 422 });
  chat.messages.pop();
  const open = await chat.resume();
  expect(toolsIn(open ?? chat.last).map(({ state }) => state)).toEqual([
    "input-available",
    "input-available",
  ]);

  const payer = server.chat("payments");
  await payer.say("pay 3 to bob");
  const question = payer.last;
  await expect(payer.say("perhaps")).rejects.toMatchObject({ statusCode: 422 });
  payer.messages = payer.messages.slice(0, -1);
  expect(await payer.resume()).toEqual(question);
  expect(isAsking(payer)).toBe(true);
});

test("an answer that another client has given is seen in the stream, and a late one is a conflict", async () => {
  await using server = await UiServer.start([payments]);
  const chat = server.chat("payments");
  await chat.say("pay 30 to bob");
  const { request_id: requestId } = chat.last.metadata as { readonly request_id: string };
  const native = createClient(server.url).agent("payments");
  const call = native.request(requestId, { answer: () => ({ approved: true }) });
  await call;
  await expect(chat.approve(true)).rejects.toMatchObject({ statusCode: 409 });
  expect(await chat.resume()).toBeNull();
});

test("an approval that is sent twice is one answer", async () => {
  await using server = await UiServer.start([payments]);
  const chat = server.chat("payments");
  await chat.say("pay 30 to bob");
  const asked = structuredClone(chat.messages);
  const paid = await chat.approve(true);
  const bytes = chat.text;
  chat.messages = asked;
  expect(await chat.approve(true)).toEqual(paid);
  expect(chat.text).toBe(bytes);
});

test("a question inside a called agent is answered like one of its own, and its call ends in whichever message follows", async () => {
  await using server = await UiServer.start([team, payments]);
  const chat = server.chat("team");
  await chat.say("buy a car for 3");
  const bought = await chat.approve(true);
  expect(textIn(bought)).toBe("Bought a car, receipt the shop:3.");
  expect(toolsIn(bought)).toMatchObject([
    { toolName: "payments.pay", state: "output-available" },
    { toolName: "wait_for_input", state: "output-available" },
  ]);

  const other = server.chat("team", "chat-2");
  await other.say("buy a car for 3");
  const refused = await other.say("no");
  expect(textIn(refused)).toBe("Did not buy a car.");
  expect(toolsIn(refused)).toMatchObject([{ toolName: "payments.pay", state: "output-available" }]);
});
