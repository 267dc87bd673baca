import * as acp from "@agentclientprotocol/sdk";
import { createRuntime, defineAgent } from "troupe";
import type { Turn } from "troupe";
import { readTextFile, runCommand, writeTextFile } from "troupe/adapters/acp";
import { createClient } from "troupe/client";
import { llmAgent, scriptedModel } from "troupe/llm";
import { serve } from "troupe/node";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { digest } from "../../../agents/digest.ts";
import { Editor } from "./editor.ts";
import type { EditorSettings } from "./editor.ts";

const coder = defineAgent({
  name: "coder",
  purpose: "Changes files.",
  async chat(_, turn) {
    const text = await turn.tool(readTextFile, { path: "/work/a.txt" });
    await turn.tool(writeTextFile, { path: "/work/a.txt", content: `${text}!` });
    const { output, exit_code: code } = await turn.tool(runCommand, { command: "wc", args: ["a.txt"] });
    return `${output} ${code}`;
  },
});

const careful = defineAgent({
  name: "careful",
  purpose: "Asks before each deletion.",
  async chat(input, turn) {
    for (const file of input.split(" ")) await remove(file, turn);
    return "done";
  },
});

async function remove(file: string, turn: Turn): Promise<void> {
  const { approved } = await turn.waitForInput(z.object({ approved: z.boolean() }), {
    approval: { tool: "remove", args: { file } },
  });
  await turn.text(approved ? `removed ${file}. ` : `kept ${file}. `);
}

const sender = defineAgent({
  name: "sender",
  purpose: "Asks for an address.",
  async chat(_, turn) {
    const { street, floor } = await turn.waitForInput(
      z.object({ street: z.string().describe("Which street?"), floor: z.number() }),
    );
    return `${street}, floor ${floor}`;
  },
});

const counter = defineAgent({
  name: "counter",
  purpose: "Counts.",
  memorySchema: z.number().default(0),
  operations: (own) => ({
    add: own({
      description: "Adds a number.",
      input: z.object({ by: z.number() }),
      run: ({ by }, turn) => turn.memory.set(turn.memory.get() + by),
    }),
    total: own({ read: true, input: z.object({}), run: (_, turn) => turn.memory.get() }),
  }),
});

const thinker = llmAgent({
  name: "thinker",
  purpose: "Thinks.",
  instructions: "Think.",
  model: scriptedModel([{ reasoning: "hm", text: "thought" }]),
});

const boss = defineAgent({
  name: "boss",
  purpose: "Has another agent ask.",
  tools: [careful],
  async chat(input, turn) {
    await turn.call(careful, "chat", { input });
    return "asked";
  },
});

const runtime = createRuntime({ agents: [coder, careful, sender, counter, thinker, boss, digest] });
const server = await serve(runtime, { port: 0, drain: false });
const client = createClient(server.url);
afterAll(async () => {
  await server.close();
  await runtime.close();
});

const openEditor = (agent: string, settings: EditorSettings = {}) =>
  Editor.here({ url: server.url, agent }, settings);

test("an agent reads and writes files and runs a command of the editor, which shows the change", async () => {
  const { fs, terminal } = acp.methods.client;
  const files = new Map([["/work/a.txt", "hello"]]);
  const released: string[] = [];
  await using editor = await openEditor("coder", {
    capabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
    app: (app) =>
      app
        .onRequest(fs.readTextFile, ({ params }) => ({ content: files.get(params.path) ?? "" }))
        .onRequest(fs.writeTextFile, ({ params }) => {
          files.set(params.path, params.content);
          return {};
        })
        .onRequest(terminal.create, ({ params }) => ({
          terminalId: [params.command, ...(params.args ?? [])].join(" "),
        }))
        .onRequest(terminal.waitForExit, () => ({ exitCode: 0 }))
        .onRequest(terminal.output, ({ params }) => ({
          output: `ran ${params.terminalId}`,
          truncated: false,
        }))
        .onRequest(terminal.release, ({ params }) => {
          released.push(params.terminalId);
          return {};
        }),
  });
  const session = await editor.open();
  expect(await editor.prompt(session, "go")).toEqual({ stopReason: "end_turn" });
  expect(files.get("/work/a.txt")).toBe("hello!");
  expect(editor.said()).toBe("ran wc a.txt 0");
  expect(released).toEqual(["wc a.txt"]);
  const contents = editor.updates.flatMap((update) =>
    update.sessionUpdate === "tool_call_update" ? (update.content ?? []) : [],
  );
  expect(contents).toContainEqual(
    expect.objectContaining({ type: "diff", path: "/work/a.txt", oldText: "hello", newText: "hello!" }),
  );
  expect(contents).toContainEqual(expect.objectContaining({ type: "terminal", terminalId: "wc a.txt" }));
  // Each call was a question to the editor in the log, answered once.
  const { runs } = await client.runs({ agent: "coder" });
  const asked: string[] = [];
  for await (const event of client.run(runs[0]?.run_id ?? "").events({ soFar: true }))
    if (event.type === "WaitForInput" && event.tool !== undefined) asked.push(event.tool.name);
  expect(asked).toEqual(["read_text_file", "write_text_file", "run_command"]);
});

test("an editor without files fails the call, and its agent is told why", async () => {
  await using editor = await openEditor("coder");
  const session = await editor.open();
  await expect(editor.prompt(session, "go")).rejects.toThrow("this editor has no read_text_file");
});

test("what is always allowed is asked once in a session, and again in another one", async () => {
  const settings: EditorSettings = { permit: () => "always" };
  await using editor = await openEditor("careful", settings);
  const session = await editor.open();
  await editor.prompt(session, "a b c");
  expect(editor.said()).toContain("removed a. removed b. removed c. ");
  expect(editor.permissions).toHaveLength(1);
  await editor.prompt(await editor.open(), "d");
  expect(editor.permissions).toHaveLength(2);
});

test("what is rejected is refused", async () => {
  await using editor = await openEditor("careful", { permit: () => "reject" });
  await editor.prompt(await editor.open(), "a b");
  expect(editor.said()).toContain("kept a. kept b. ");
});

test("a question with several values is a form for an editor that has forms", async () => {
  const forms: unknown[] = [];
  await using editor = await openEditor("sender", {
    capabilities: { elicitation: { form: {} } },
    app: (app) =>
      app.onRequest(acp.methods.client.elicitation.create, ({ params }) => {
        forms.push(params);
        return { action: "accept", content: { street: "Elm", floor: 3 } };
      }),
  });
  await editor.prompt(await editor.open(), "go");
  expect(editor.said()).toContain("Elm, floor 3");
  expect(forms).toMatchObject([
    {
      mode: "form",
      requestedSchema: { properties: { street: { type: "string" }, floor: { type: "number" } } },
    },
  ]);
});

test("a form that is declined cancels the request", async () => {
  await using editor = await openEditor("sender", {
    capabilities: { elicitation: { form: {} } },
    app: (app) => app.onRequest(acp.methods.client.elicitation.create, () => ({ action: "decline" })),
  });
  expect(await editor.prompt(await editor.open(), "go")).toEqual({ stopReason: "cancelled" });
});

test("operations are modes and commands, and one that only reads answers without a turn", async () => {
  await using editor = await openEditor("counter");
  const { sessionId, modes } = await editor.agent.request(acp.methods.agent.session.new, {
    cwd: "/work",
    mcpServers: [],
  });
  expect(modes).toMatchObject({
    currentModeId: "chat",
    availableModes: [{ id: "chat" }, { id: "add" }, { id: "total" }],
  });
  await editor.prompt(sessionId, '/add {"by": 3}');
  await editor.agent.request(acp.methods.agent.session.setMode, { sessionId, modeId: "add" });
  await editor.prompt(sessionId, '{"by": 2}');
  await editor.agent.request(acp.methods.agent.session.setMode, { sessionId, modeId: "total" });
  await editor.prompt(sessionId, "");
  expect(editor.said()).toContain("5");
  const { runs } = await client.runs({ agent: "counter" });
  expect(runs).toMatchObject([{ turns: 2 }]);
  await expect(editor.prompt(sessionId, "/add nonsense")).rejects.toThrow("the input of add is no JSON");
  await expect(
    editor.agent.request(acp.methods.agent.session.setMode, { sessionId, modeId: "none" }),
  ).rejects.toThrow("counter has no operation none");
});

test("messages of an agent are commands", async () => {
  await using editor = await openEditor("digest");
  const session = await editor.open();
  await expect
    .poll(() => editor.updates)
    .toContainEqual(
      expect.objectContaining({
        sessionUpdate: "available_commands_update",
        availableCommands: expect.arrayContaining([expect.objectContaining({ name: "note" })]) as unknown,
      }),
    );
  expect(await editor.prompt(session, '/note "remember"')).toEqual({ stopReason: "end_turn" });
});

test("reasoning is a thought", async () => {
  await using editor = await openEditor("thinker");
  await editor.prompt(await editor.open(), "a");
  expect(editor.updates).toContainEqual(
    expect.objectContaining({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" } }),
  );
  expect(editor.said()).toBe("thought");
});

test("a question of an agent that was called is asked", async () => {
  await using editor = await openEditor("boss");
  expect(await editor.prompt(await editor.open(), "a")).toEqual({ stopReason: "end_turn" });
  expect(editor.permissions).toHaveLength(1);
  expect(editor.said()).toBe("asked");
});

test("a wrong token and an unknown session are refused in the words of the protocol", async () => {
  const guarded = await serve(createRuntime({ agents: [careful] }), {
    port: 0,
    drain: false,
    token: "right",
  });
  try {
    await expect(Editor.here({ url: guarded.url, token: "wrong" })).rejects.toMatchObject({ code: -32_000 });
  } finally {
    await guarded.close();
  }
  await using editor = await openEditor("careful");
  await expect(editor.load("run_none")).rejects.toMatchObject({ code: -32_002 });
});
