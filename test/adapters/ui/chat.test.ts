import { defineAgent, defineTool } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import { expect, test } from "vitest";
import { z } from "zod";
import { assistant } from "../../../agents/assistant.ts";
import { echo } from "../../../agents/echo.ts";
import { notebook } from "../../../agents/notebook.ts";
import { pdfWriter } from "../../../agents/pdf-writer.ts";
import { team } from "../../../agents/team.ts";
import { textIn, toolsIn, UiServer } from "./harness/server.ts";

test("a chat remembers, and each answer says which run and request it is of", async () => {
  await using server = await UiServer.start([notebook]);
  const chat = server.chat("notebook", "Gespräch über alles 你好");
  const first = await chat.say("one");
  const second = await chat.say("two");
  expect([first, second].map(textIn)).toEqual(["1. one", "1. one\n2. two"]);
  expect(first.metadata).toMatchObject({ agent: "notebook", request_id: first.id, finish_reason: "success" });
  expect(second.metadata).toMatchObject({ run_id: (first.metadata as { run_id: string }).run_id });
  expect(textIn(await server.chat("notebook", "another").say("one"))).toBe("1. one");
});

test("the steps, tools, usage and question of a model agent are shown, and an approval goes on in the same message", async () => {
  await using server = await UiServer.start([assistant]);
  const chat = server.chat("assistant");
  const asked = await chat.say("What is 17 * 3? Then pay bob that much.");
  expect(toolsIn(asked)).toMatchObject([
    { toolName: "calculator.multiply", state: "output-available", output: { value: 51 } },
    { toolName: "payments.pay", state: "input-available" },
    { toolName: "wait_for_input", state: "approval-requested", input: { question: "Pay 51 to bob?" } },
  ]);
  const paid = await chat.approve(true);
  expect(paid.id).toBe(asked.id);
  expect(chat.messages).toHaveLength(2);
  expect(toolsIn(paid).slice(1)).toMatchObject([
    { state: "output-available" },
    { toolName: "wait_for_input", state: "output-available", output: { approved: true }, approved: true },
  ]);
  expect(textIn(paid)).toMatch(/51/);
  expect(paid.metadata).toMatchObject({ usage: { input_tokens: expect.any(Number) as number } });
});

test("reasoning and text are parts of their own, and a text that is only returned is shown", async () => {
  const thinker = llmAgent({
    name: "thinker",
    purpose: "Thinks.",
    instructions: "Think.",
    model: scriptedModel([{ reasoning: "Let me see.", text: "It is so." }]),
  });
  const silent = defineAgent({ name: "silent", purpose: "Returns.", chat: () => "all of it" });
  await using server = await UiServer.start([thinker, silent]);
  const thought = await server.chat("thinker").say("Is it so?");
  expect(thought.parts.map(({ type }) => type)).toEqual(["step-start", "reasoning", "text"]);
  expect(thought.parts.slice(1)).toMatchObject([
    { text: "Let me see.", state: "done" },
    { text: "It is so.", state: "done" },
  ]);
  expect(textIn(await server.chat("silent").say("go"))).toBe("all of it");
});

test("what a called agent says belongs to its call", async () => {
  await using server = await UiServer.start([team]);
  const told = await server.chat("team").say("the moon");
  const [call] = told.parts.flatMap((part) => (part.type === "dynamic-tool" ? [part] : []));
  expect(call).toMatchObject({ toolName: "researcher", providerExecuted: true, state: "output-available" });
  const tool_call_id = call?.toolCallId ?? "";
  expect(told.parts.filter(({ type }) => type === "data-agent")).toMatchObject([
    { data: { agent: "summarizer", tool_call_id } },
    { id: tool_call_id, data: { agent: "researcher", tool_call_id, text: textIn(told) } },
  ]);
});

test("a tool that fails and a turn that fails are shown with their messages", async () => {
  const broken = defineTool({
    name: "broken",
    description: "Does not work.",
    input: z.object({}),
    effect: "idempotent",
    run() {
      throw new Error("out of order");
    },
  });
  const failing = defineAgent({
    name: "failing",
    purpose: "Fails.",
    tools: [broken],
    async chat(_input, turn) {
      await turn.tool(broken, {}).catch(() => {});
      throw new Error("nothing works");
    },
  });
  await using server = await UiServer.start([failing]);
  const chat = server.chat("failing");
  await expect(chat.say("go")).rejects.toThrow("nothing works");
  expect(chat.text).toContain('"type":"tool-output-error"');
  expect(chat.text).toContain("out of order");
  expect(chat.text).toMatch(/"type":"finish","finishReason":"error"\}\n\ndata: \[DONE\]/);
});

test("a file of an agent has an absolute address, and a page can send it back", async () => {
  const reader = defineAgent({
    name: "reader",
    purpose: "Reads files.",
    async chat(input, turn) {
      const names = (await turn.attachments()).map(({ name, mimeType }) => `${name} (${mimeType})`);
      await turn.text(`${input}: ${names.join()} ${JSON.stringify(turn.metadata)}`);
    },
  });
  await using server = await UiServer.start([pdfWriter, reader]);
  const written = await server.chat("pdf-writer").say("Moon: it is far away");
  const file = written.parts.find((part) => part.type === "file");
  expect(file).toMatchObject({
    mediaType: "application/pdf",
    providerMetadata: { troupe: { name: "Moon.pdf" } },
  });
  const address = file?.url ?? "";
  expect(address.startsWith(`${server.url}/artifacts/`)).toBe(true);
  expect((await (await fetch(address)).bytes()).length).toBeGreaterThan(500);

  const told = await server.chat("reader").say("look", [
    { url: address, mediaType: "application/pdf" },
    { url: `data:text/plain;base64,${btoa("hello")}`, mediaType: "text/plain", filename: "hello.txt" },
    { url: "https://elsewhere.example/a.png", mediaType: "image/png" },
  ]);
  expect(textIn(told)).toContain("look: Moon.pdf (application/pdf),hello.txt (text/plain)");
  expect(textIn(told)).toContain('"url":"https://elsewhere.example/a.png"');
});

test("a message that is sent twice is one turn, also with a file, and another text under its id is a conflict", async () => {
  await using server = await UiServer.start([notebook]);
  for (const files of [[], [{ url: "data:text/plain,hi", mediaType: "text/plain" }]]) {
    const chat = server.chat("notebook", `twice-${files.length}`);
    const first = await chat.say("one", files);
    const bytes = chat.text;
    chat.messages.pop();
    expect(await chat.read(await chat.open())).toEqual(first);
    expect(chat.text).toBe(bytes);
    const other = server.chat("notebook", `twice-${files.length}`);
    await expect(other.say("two", files)).rejects.toMatchObject({ statusCode: 409 });
  }
});

test("what was said before a chat began here reaches a model", async () => {
  const model = scriptedModel(({ messages }) =>
    messages.map(({ role, content }) => `${role}:${content}`).join("|"),
  );
  const parrot = llmAgent({ name: "parrot", purpose: "Repeats.", instructions: "Repeat.", model });
  await using server = await UiServer.start([parrot]);
  const chat = server.chat("parrot");
  chat.begin("My name is Ada.");
  chat.messages.push({ id: "a", role: "assistant", parts: [{ type: "text", text: "Hello, Ada." }] });
  const told = await chat.say("Who am I?");
  expect(textIn(told)).toBe("user:My name is Ada.|assistant:Hello, Ada.|user:Who am I?");
  expect(textIn(await chat.say("And now?"))).toContain("user:Who am I?");
});

test("a page reads the names of agents and the routes of the wire", async () => {
  await using server = await UiServer.start([echo]);
  expect(await (await fetch(`${server.url}/ui`)).json()).toMatchObject({
    agents: [{ name: "echo", path: "/ui/echo" }],
    routes: ["POST {agent}", "GET {agent}/{id}/stream", "POST {agent}/{id}/stop"],
  });
});
