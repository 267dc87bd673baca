/** @module-tag long */
import { expect, test } from "vitest";
import { ServerProcess } from "../../flows/server.ts";
import { textIn, toolsIn, UiChat } from "./harness/server.ts";

test("a server that is killed in the middle of an answer goes on with the same bytes", async () => {
  await using server = await ServerProcess.create();
  let url = await server.start();
  const chat = new UiChat(() => `${url}/ui/ticker`, "chat-1");
  chat.begin("3 1000");
  const read = chat.read(await chat.open()).catch((thrown: unknown) => thrown);
  await expect.poll(() => chat.text).toContain('"delta":"1\\n"');
  const killing = server.restart();
  expect(await read).toBeInstanceOf(TypeError);
  const seen = chat.text;
  url = await killing;
  const message = await chat.resume();
  expect(message && textIn(message)).toBe("1\n2\n3\n");
  expect(chat.text.startsWith(seen)).toBe(true);
});

test("a server that is killed while an agent asks shows the same question, takes its answer once, and shows that the same", async () => {
  await using server = await ServerProcess.create();
  let url = await server.start();
  const chat = new UiChat(() => `${url}/ui/payments`, "chat-1");
  const asked = await chat.say("pay 30 to bob");
  const bytes = chat.text;
  const messages = structuredClone(chat.messages);
  url = await server.restart();
  expect(await chat.resume()).toEqual(asked);
  expect(chat.text).toBe(bytes);
  const paid = await chat.approve(true);
  const answer = chat.text;
  url = await server.restart();
  chat.messages = messages;
  expect(await chat.approve(true)).toEqual(paid);
  expect(chat.text).toBe(answer);
  expect(toolsIn(paid)).toMatchObject([{ state: "output-available" }]);
});
