import { createRuntime, defineAgent } from "troupe";
import { updatePlan } from "troupe/adapters/acp";
import { createClient } from "troupe/client";
import { serve } from "troupe/node";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { Gates } from "../gates.ts";
import { Editor } from "./editor.ts";

const gates = new Gates();

const worker = defineAgent({
  name: "worker",
  purpose: "Works in steps.",
  tools: [updatePlan],
  async chat(input, turn) {
    await turn.tool(updatePlan, { entries: [{ content: "one" }, { content: "two", status: "completed" }] });
    await turn.text("begun ");
    await turn.effect("gate", () => gates.get(input).promise);
    return "done";
  },
});

const curious = defineAgent({
  name: "curious",
  purpose: "Asks for a name.",
  async chat(_, turn) {
    const { name } = await turn.waitForInput(z.object({ name: z.string().describe("Who are you?") }));
    return `hello ${name}`;
  },
});

const runtime = createRuntime({ agents: [echo, payments, worker, curious] });
const server = await serve(runtime, { port: 0, drain: false });
const client = createClient(server.url);
afterAll(async () => {
  await server.close();
  await runtime.close();
});

const openEditor = (agent: string, settings = {}) => Editor.here({ url: server.url, agent }, settings);

test("a prompt is a turn, and the next one another turn of the same run", async () => {
  await using editor = await openEditor("echo");
  const session = await editor.open();
  expect(await editor.prompt(session, "hello")).toEqual({ stopReason: "end_turn" });
  expect(await editor.prompt(session, "again")).toEqual({ stopReason: "end_turn" });
  expect(editor.said()).toContain("hello");
  const { runs } = await client.runs({ agent: "echo", key: `acp:${session}` });
  expect(runs).toMatchObject([{ turns: 2 }]);
});

test("texts and plans come as they are said, and a cancel ends the turn", async () => {
  await using editor = await openEditor("worker");
  const session = await editor.open();
  const prompt = editor.prompt(session, "never");
  await expect.poll(() => editor.said()).toBe("begun ");
  const kinds = editor.updates.map(({ sessionUpdate }) => sessionUpdate);
  expect(kinds.slice(0, 3)).toEqual(["available_commands_update", "plan", "agent_message_chunk"]);
  await editor.cancel(session);
  expect(await prompt).toEqual({ stopReason: "cancelled" });
});

test("a question of yes or no is a permission", async () => {
  await using editor = await openEditor("payments");
  const session = await editor.open();
  expect(await editor.prompt(session, "pay 30 to bob")).toEqual({ stopReason: "end_turn" });
  expect(editor.permissions).toMatchObject([{ toolCall: { title: "Pay 30 to bob?", status: "pending" } }]);
  expect(editor.calls).toContainEqual(["Pay 30 to bob?", "completed"]);
});

test("any other question is a text, which the next prompt answers", async () => {
  await using editor = await openEditor("curious");
  const session = await editor.open();
  expect(await editor.prompt(session, "hi")).toEqual({ stopReason: "end_turn" });
  expect(editor.said()).toBe("Who are you?\n");
  expect(await editor.prompt(session, "bob")).toEqual({ stopReason: "end_turn" });
  expect(editor.said()).toBe("Who are you?\nhello bob");
});

test("a loaded session shows what has happened and goes on, and the list has it", async () => {
  await using editor = await openEditor("curious");
  const session = await editor.open("/home/me");
  await editor.prompt(session, "hi");
  await using other = await openEditor("curious");
  await other.load(session, "/home/me");
  expect([other.said("user"), other.said()]).toEqual(["hi", "Who are you?\n"]);
  expect(await other.prompt(session, "eve")).toEqual({ stopReason: "end_turn" });
  expect(other.said()).toBe("Who are you?\nhello eve");
  const { sessions } = await other.agent.request("session/list", { cwd: "/home/me" });
  expect(sessions).toMatchObject([{ sessionId: session, cwd: "/home/me", title: "hi" }]);
});
