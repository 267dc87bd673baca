import { once } from "node:events";
import { TaskState } from "@a2a-js/sdk";
import type { Task } from "@a2a-js/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, say, stateOf, textOf as answerOf } from "../adapters/a2a/server.ts";
import { Editor } from "../adapters/acp/editor.ts";
import { Thread } from "../adapters/ag-ui/server.ts";
import { connectOld, idsOf, textOf } from "../adapters/mcp/clients.ts";
import { textIn, UiChat } from "../adapters/ui/harness/server.ts";
import { startServer } from "../flows/server.ts";
import type { Server } from "../flows/server.ts";
import { getText } from "./wires.ts";

// The unmodified clients of the newer protocols, on one server that speaks all of them.

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

const openai = (): OpenAI => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
const chatOf = (agent: string, id: string): UiChat => new UiChat(() => `${server.url}/ui/${agent}`, id);
const threadOf = (agent: string, id: string): Thread => new Thread(() => `${server.url}/ag-ui/${agent}`, id);

/** How often a request began and ended in the log. */
async function endsOf(requestId: string): Promise<readonly number[]> {
  const events = JSON.parse(await getText(`${server.url}/getevents/${requestId}?since=0`)) as readonly {
    readonly type: string;
  }[];
  return ["RequestStarted", "RequestCompleted"].map(
    (name) => events.filter(({ type }) => type === name).length,
  );
}

test("a run begun in useChat waits on all wires, is loaded in an editor, answered from MCP, and a stored response of OpenAI", async () => {
  const chat = chatOf("payments", "one");
  const asked = await chat.say("pay 30 to bob");
  const { request_id: requestId, run_id: runId } = asked.metadata as {
    readonly request_id: string;
    readonly run_id: string;
  };
  const thread = threadOf("payments", runId);
  expect(await thread.reread()).toContain("Pay 30 to bob?");
  const waiting = await openai().responses.retrieve(`resp_${requestId}`);
  expect(waiting).toMatchObject({ status: "completed", output: [{ type: "mcp_approval_request" }] });
  const a2a = await connect(server.url, "payments");
  const status = TaskState.TASK_STATE_INPUT_REQUIRED;
  const { tasks } = await a2a.listTasks({
    tenant: "",
    contextId: runId,
    status,
    pageToken: "",
    statusTimestampAfter: undefined,
  });
  expect(tasks.map(({ id }) => id)).toEqual([requestId]);
  // Its person says nothing: the question is answered elsewhere, and taken back.
  await using editor = await Editor.here(
    { url: server.url, agent: "payments" },
    { permit: (_, signal) => once(signal, "abort").then(() => Promise.reject(new Error("taken back"))) },
  );
  await editor.load(runId);
  expect(editor.said("user")).toBe("pay 30 to bob");
  await expect.poll(() => editor.permissions.length).toBe(1);
  const client = await connectOld(server.url);
  const paid = await client.call("answer", { request_id: requestId, values: { approved: true } });
  expect(textOf(paid)).toBe("Paid 30 to bob.");
  // Each wire shows the answer that another one gave.
  const events = JSON.parse(await getText(`${server.url}/getevents/${requestId}?since=0`)) as readonly {
    readonly id: number;
    readonly type: string;
  }[];
  const answer = events.find(({ type }) => type === "ResumeWithInput");
  expect(await openai().responses.retrieve(`resp_${requestId}`)).toEqual(waiting);
  expect((await openai().responses.retrieve(`resp_${requestId}~${answer?.id}`)).output_text).toBe(
    "Paid 30 to bob.",
  );
  expect(await thread.reread()).toContain("Paid 30 to bob.");
  expect(answerOf(await a2a.getTask({ tenant: "", id: requestId }))).toBe("Paid 30 to bob.");
  await expect.poll(() => editor.said()).toContain("Paid 30 to bob.");
  await expect(chat.approve(true)).rejects.toThrow(/already answered|answered by another client/);
  expect(await endsOf(requestId)).toEqual([1, 1]);
});

test("an agent with two questions is driven over each of the wires", async () => {
  const chat = chatOf("interviewer", "two");
  await chat.say("go");
  await chat.output("colour", "blue");
  expect(textIn(await chat.output("name", "Ada"))).toBe("Ada likes blue.");

  const asked = await openai().responses.create({ model: "interviewer", input: "go" });
  const half = await openai().responses.create({
    model: "interviewer",
    input: "Ada",
    previous_response_id: asked.id,
  });
  expect(half.output_text).toContain("colour");
  const end = await openai().responses.create({
    model: "interviewer",
    input: "blue",
    previous_response_id: half.id,
  });
  expect(end.output_text).toBe("Ada likes blue.");

  const client = await connectOld(server.url);
  const { request_id } = idsOf(await client.call("interviewer", { input: "go" }));
  await client.call("answer", { request_id, values: { name: "Ada" } });
  expect(textOf(await client.call("answer", { request_id, values: { colour: "blue" } }))).toBe(
    "Ada likes blue.",
  );

  const thread = threadOf("interviewer", "two");
  await thread.say("go");
  await thread.resume(["Ada", { colour: "blue" }]);
  expect(thread.said).toBe("Ada likes blue.");

  const a2a = await connect(server.url, "interviewer");
  const { id } = (await a2a.sendMessage(say("go"))) as Task;
  const rest = (await a2a.sendMessage(say({ colour: "blue" }, { taskId: id }))) as Task;
  expect(stateOf(rest)).toBe("INPUT_REQUIRED");
  expect(answerOf((await a2a.sendMessage(say("Ada", { taskId: id }))) as Task)).toBe("Ada likes blue.");

  await using editor = await Editor.here({ url: server.url, agent: "interviewer" });
  const session = await editor.open();
  for (const text of ["go", "Ada", "blue"]) await editor.prompt(session, text);
  expect(editor.said()).toContain("Ada likes blue.");
});

test("an agent whose child asks is driven over each of the wires", async () => {
  const bought = "Bought tea, receipt the shop:3.";
  const chat = chatOf("team", "child");
  await chat.say("buy tea for 3");
  expect(textIn(await chat.approve(true))).toBe(bought);

  const asked = await openai().responses.create({ model: "team", input: "buy tea for 3" });
  const [item] = asked.output.filter(({ type }) => type === "mcp_approval_request");
  const end = await openai().responses.create({
    model: "team",
    previous_response_id: asked.id,
    input: [{ type: "mcp_approval_response", approve: true, approval_request_id: item?.id ?? "" }],
  });
  expect(end.output_text).toBe(bought);

  const client = await connectOld(server.url);
  const { request_id } = idsOf(await client.call("team", { input: "buy tea for 3" }));
  expect(textOf(await client.call("answer", { request_id, values: { approved: true } }))).toBe(bought);

  const thread = threadOf("team", "child");
  await thread.say("buy tea for 3");
  await thread.resume([true]);
  expect(thread.said).toBe(bought);

  const a2a = await connect(server.url, "team");
  const { id } = (await a2a.sendMessage(say("buy tea for 3"))) as Task;
  expect(answerOf((await a2a.sendMessage(say({ approved: true }, { taskId: id }))) as Task)).toBe(bought);

  await using editor = await Editor.here({ url: server.url, agent: "team" });
  await editor.prompt(await editor.open(), "buy tea for 3");
  expect(editor.permissions).toHaveLength(1);
  expect(editor.said()).toContain(bought);
});
