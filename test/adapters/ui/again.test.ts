import { createClient } from "troupe/client";
import { expect, test } from "vitest";
import { notebook } from "../../../agents/notebook.ts";
import { payments } from "../../../agents/payments.ts";
import { textIn, UiServer } from "./harness/server.ts";

test("an answer is made again in a fork, and the chat goes on there", async () => {
  await using server = await UiServer.start([notebook], { durable: true });
  const chat = server.chat("notebook");
  const first = await chat.say("one");
  await chat.say("two");
  const again = await chat.regenerate();
  expect(textIn(again)).toBe("1. one\n2. two");
  expect(again.metadata).not.toMatchObject({ run_id: (first.metadata as { run_id: string }).run_id });
  expect(chat.messages).toHaveLength(4);
  await server.restart();
  expect(textIn(await chat.say("three"))).toBe("1. one\n2. two\n3. three");

  // An earlier answer, by its id, leaves those after it.
  expect(textIn(await chat.regenerate(first.id))).toBe("1. one");
  expect(textIn(await chat.say("four"))).toBe("1. one\n2. four");
  // Each version is still there.
  expect((await createClient(server.url).runs()).runs).toHaveLength(3);
});

test("what a person has said is changed, also while the agent asks; the question that is left is asked no more", async () => {
  await using server = await UiServer.start([payments]);
  const chat = server.chat("payments");
  await chat.say("pay 30 to bob");
  const id = chat.messages[0]?.id ?? "";
  chat.messages = [{ id, role: "user", parts: [{ type: "text", text: "pay 3 to bob" }] }];
  await chat.read(await chat.open(id));
  const waits = await createClient(server.url).waits();
  expect(waits?.waits.map(({ questions }) => questions)).toEqual([{ approved: "Pay 3 to bob?" }]);
  expect(textIn(await chat.approve(true))).toBe("Paid 3 to bob.");
});

test("a message that has not arrived is sent by making its answer again", async () => {
  await using server = await UiServer.start([notebook]);
  const chat = server.chat("notebook");
  chat.begin("one");
  expect(textIn(await chat.read(await chat.open(undefined, "regenerate-message")))).toBe("1. one");
});
