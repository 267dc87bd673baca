import type { UIMessage } from "ai";
import { defineAgent } from "troupe";
import { createClient } from "troupe/client";
import { createChatTransport } from "troupe/client/ui";
import { expect, test } from "vitest";
import { assistant } from "../../../agents/assistant.ts";
import { interviewer } from "../../../agents/interviewer.ts";
import { notebook } from "../../../agents/notebook.ts";
import { payments } from "../../../agents/payments.ts";
import { pdfWriter } from "../../../agents/pdf-writer.ts";
import { textIn, toolsIn, UiServer } from "../../adapters/ui/harness/server.ts";
import { createStepper } from "../../adapters/ui/harness/stepper.ts";
import { Gates } from "../../adapters/gates.ts";

/** A message without what differs from chat to chat. */
function plain({ parts }: UIMessage): unknown {
  return JSON.parse(JSON.stringify(parts).replaceAll(/req_[\w-]+|ui-[\w-]+/g, "request"));
}

test("texts, tools, approvals and typed answers are those of the adapter", async () => {
  await using server = await UiServer.start([assistant, payments, interviewer]);
  for (const decide of ["approve", "deny", "type"] as const) {
    const shown: unknown[] = [];
    for (const chat of [
      server.chat("assistant", `${decide}-1`),
      server.nativeChat("assistant", `${decide}-2`),
    ]) {
      await chat.say("What is 17 * 3? Then pay bob that much.");
      if (decide === "type") await chat.say("yes");
      else await chat.approve(decide === "approve");
      shown.push(chat.messages.map(plain));
    }
    expect(shown[1]).toEqual(shown[0]);
  }
  const asked = server.nativeChat("interviewer");
  await asked.say("go");
  await asked.output("colour", { colour: "blue" });
  expect(textIn(await asked.output("name", "Ada"))).toBe("Ada likes blue.");
});

test("a chat goes on over the adapter and back, and an answer of another page is told", async () => {
  await using server = await UiServer.start([notebook, payments]);
  await server.nativeChat("notebook").say("one");
  const second = server.chat("notebook");
  second.begin("one");
  expect(textIn(await second.say("two"))).toBe("1. one\n2. two");
  const third = server.nativeChat("notebook");
  third.begin("one");
  third.begin("two");
  expect(textIn(await third.say("three"))).toContain("3. three");

  const chat = server.nativeChat("payments");
  const asked = await chat.say("pay 30 to bob");
  expect(await server.nativeChat("payments").resume()).toEqual(asked);
  const other = server.chat("payments");
  other.messages = structuredClone(chat.messages);
  await other.approve(true);
  // The same answer once more is the same; without a question there is nothing to resume.
  expect(textIn(await chat.approve(true))).toBe("Paid 30 to bob.");
  expect(await chat.resume()).toBeNull();
});

test("a server that is restarted in the middle of an answer is not noticed", { tags: "long" }, async () => {
  const gates = new Gates();
  await using server = await UiServer.start([createStepper(gates)], { durable: true });
  const { port } = new URL(server.url);
  const chat = server.nativeChat("stepper");
  gates.get("one").resolve();
  chat.begin("one two");
  const reader = (await chat.open()).getReader();
  const seen: string[] = [];
  while (!seen.includes("one ")) {
    const { value } = await reader.read();
    if (value?.type === "text-delta") seen.push(value.delta);
  }
  await server.restart({ port: Number(port) });
  gates.get("two").resolve();
  for (let done = false; !done;) {
    const next = await reader.read();
    done = next.done;
    if (next.value?.type === "text-delta") seen.push(next.value.delta);
  }
  expect(seen).toEqual(["one ", "two "]);
});

test("files are uploaded and have addresses, and the tools of a page are run by it", async () => {
  const reader = defineAgent({
    name: "reader",
    purpose: "Reads files.",
    async chat(input, turn) {
      const names = (await turn.attachments()).map(({ name, mimeType }) => `${name} (${mimeType})`);
      await turn.text(`${input}: ${names.join()}`);
    },
  });
  await using server = await UiServer.start([pdfWriter, reader, assistant]);
  const written = await server.nativeChat("pdf-writer").say("Moon: it is far away");
  const url = written.parts.find((part) => part.type === "file")?.url ?? "";
  expect(url.startsWith(`${server.url}/artifacts/`)).toBe(true);
  const told = await server.nativeChat("reader").say("look", [
    { url, mediaType: "application/pdf" },
    { url: `data:text/plain;base64,${btoa("hello")}`, mediaType: "text/plain", filename: "hello.txt" },
  ]);
  expect(textIn(told)).toBe("look: Moon.pdf (application/pdf),hello.txt (text/plain)");

  const chat = server.nativeChat("assistant", "lamp", [{ name: "lamp" }]);
  await chat.say("call lamp");
  const said = await chat.answer((part: { type: string }) =>
    part.type === "tool-lamp" ? { ...part, state: "output-available", output: "on" } : undefined,
  );
  expect(textIn(said)).toBe("lamp: on");
  expect(toolsIn(said)).toEqual([]);
});

test("a turn is done again in a fork, and a page cancels what works", async () => {
  const gates = new Gates();
  await using server = await UiServer.start([notebook, createStepper(gates)]);
  const chat = server.nativeChat("notebook");
  await chat.say("one");
  const second = await chat.say("two");
  expect(textIn(await chat.regenerate(second.id))).toBe("1. one\n2. two");

  const transport = createChatTransport(createClient(server.url), "stepper");
  const stepper = server.nativeChat("stepper");
  stepper.begin("never");
  const answer = stepper.read(await stepper.open());
  await transport.cancel("chat-1");
  await answer;
  expect(await stepper.resume()).toBeNull();
});

test("a refusal is an error before the stream", async () => {
  await using server = await UiServer.start([payments]);
  await expect(server.nativeChat("nobody").say("hi")).rejects.toMatchObject({ code: "not_found" });
  const chat = server.nativeChat("payments");
  await chat.say("pay 3 to bob");
  await expect(chat.say("perhaps")).rejects.toMatchObject({ code: "unprocessable" });
});
