import { Task as AnyTask, TaskState } from "@a2a-js/sdk";
import type { Task } from "@a2a-js/sdk";
import { TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } from "@a2a-js/sdk/errors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineAgent } from "troupe";
import { z } from "zod";
import { calculator } from "../../../agents/calculator.ts";
import { echo } from "../../../agents/echo.ts";
import { interviewer } from "../../../agents/interviewer.ts";
import { ticker } from "../../../agents/ticker.ts";
import { mirror } from "../agentscope/harness/agents.ts";
import { ServerProcess } from "../../flows/server.ts";
import { A2aServer, connect, gather, say, stateOf, textIn, textOf } from "./server.ts";

const scribe = defineAgent({
  name: "scribe",
  purpose: "Writes a file.",
  async chat(input, turn) {
    await turn.artifact({ name: "note.txt", mimeType: "text/plain", data: input });
  },
});

const stubborn = defineAgent({
  name: "stubborn",
  purpose: "Fails.",
  chat() {
    throw new Error("no");
  },
});

const asks = Promise.withResolvers<void>();
const slowAsker = defineAgent({
  name: "slow-asker",
  purpose: "Asks, once it is told to.",
  async chat(_, turn) {
    await turn.effect("told", () => asks.promise);
    await turn.waitForInput(z.object({ ok: z.boolean() }));
  },
});

let server: A2aServer;
beforeAll(async () => {
  server = await A2aServer.start([
    echo,
    interviewer,
    ticker,
    calculator,
    scribe,
    mirror,
    stubborn,
    slowAsker,
  ]);
});
afterAll(() => server.close());

describe.each(["JSONRPC", "HTTP+JSON", "0.3"])("the client of the protocol over %s", (binding) => {
  test("sends, streams, and reads a task again", async () => {
    const client = await server.client("echo", binding);
    const task = (await client.sendMessage(say("to be"))) as Task;
    expect([stateOf(task), textOf(task)]).toEqual(["COMPLETED", "to be"]);
    expect(task.history.map(({ parts }) => textIn(parts))).toEqual(["to be"]);
    const streamed = await gather(client.sendMessageStream(say("or not", { contextId: task.contextId })));
    expect(streamed).toMatchObject({ text: "or not", isLast: true });
    expect(streamed.kinds[0]).toBe("task");
    expect(streamed.states).toEqual(["SUBMITTED", "WORKING", "COMPLETED"]);
    const read = await client.getTask({ tenant: "", id: streamed.id });
    expect([read.contextId, textOf(read)]).toEqual([task.contextId, "or not"]);
    await expect(client.getTask({ tenant: "", id: "nobody" })).rejects.toThrow(TaskNotFoundError);
    await expect(client.sendMessage(say("more", { taskId: task.id }))).rejects.toThrow(
      UnsupportedOperationError,
    );
  });

  test("answers two questions, by data and by text, in streams that begin with the task", async () => {
    const client = await server.client("interviewer", binding);
    const asked = await gather(client.sendMessageStream(say("go")));
    expect(asked.states.at(-1)).toBe("INPUT_REQUIRED");
    const waiting = await client.getTask({ tenant: "", id: asked.id });
    expect(textIn(waiting.status?.message?.parts ?? [])).toMatch(/name.*colour/s);
    const half = (await client.sendMessage(say({ colour: "blue" }, { taskId: asked.id }))) as Task;
    expect(stateOf(half)).toBe("INPUT_REQUIRED");
    expect(textIn(half.status?.message?.parts ?? [])).not.toContain("colour");
    const end = await gather(client.sendMessageStream(say("Ann", { taskId: asked.id })));
    expect(end).toMatchObject({ text: "Ann likes blue.", id: asked.id });
    expect([end.kinds[0], end.states.at(-1)]).toEqual(["task", "COMPLETED"]);
  });

  test("cancels a task, and its stream ends with that", async () => {
    const client = await server.client("ticker", binding);
    const task = (await client.sendMessage(say("2 60000", { returnImmediately: true }))) as Task;
    const reading = gather(client.resubscribeTask({ tenant: "", id: task.id }));
    const canceled = await client.cancelTask({ tenant: "", id: task.id, metadata: undefined });
    expect(stateOf(canceled)).toBe("CANCELED");
    expect((await reading).states.at(-1)).toBe("CANCELED");
    await expect(client.cancelTask({ tenant: "", id: task.id, metadata: undefined })).rejects.toThrow(
      TaskNotCancelableError,
    );
    await expect(gather(client.resubscribeTask({ tenant: "", id: task.id }))).rejects.toThrow(
      UnsupportedOperationError,
    );
  });
});

test("a message behind an open question is submitted, and its client does not wait for the answer of another", async () => {
  const client = await server.client("interviewer", "JSONRPC");
  const asked = (await client.sendMessage(say("go"))) as Task;
  expect(stateOf(asked)).toBe("INPUT_REQUIRED");
  const queued = (await client.sendMessage(say("and then", { contextId: asked.contextId }))) as Task;
  expect(stateOf(queued)).toBe("SUBMITTED");
  const streamed = await gather(client.sendMessageStream(say("and more", { contextId: asked.contextId })));
  expect(streamed.states).toEqual(["SUBMITTED"]);
  await client.cancelTask({ tenant: "", id: streamed.id, metadata: undefined });
  await client.cancelTask({ tenant: "", id: queued.id, metadata: undefined });
});

test("a message that is queued when another task of its context asks something is submitted then", async () => {
  const client = await server.client("slow-asker", "JSONRPC");
  const contextId = crypto.randomUUID();
  const first = (await client.sendMessage(say("go", { contextId, returnImmediately: true }))) as Task;
  const behind = client.sendMessage(say("and then", { contextId }));
  const streamed = gather(client.sendMessageStream(say("and more", { contextId })));
  await queued(server, first.metadata?.["run_id"] as string, 3);
  asks.resolve();
  const second = (await behind) as Task;
  expect([stateOf(second), (await streamed).states]).toEqual(["SUBMITTED", ["SUBMITTED"]]);
  await client.sendMessage(say({ ok: true }, { taskId: first.id }));
  expect(stateOf(await client.getTask({ tenant: "", id: second.id }))).not.toBe("CANCELED");
});

/** Resolves when a run has as many requests. */
async function queued({ runtime }: A2aServer, runId: string, count: number): Promise<void> {
  while ((await runtime.requests(runId)).length < count) await new Promise(setImmediate);
}

test("an answer that another client has given is refused, and an own one is taken again", async () => {
  const client = await server.client("interviewer");
  const { id } = await gather(client.sendMessageStream(say("go")));
  const asked = (await server.runtime.waits({ limit: 100 })).events
    .map((text) => JSON.parse(text) as { readonly id: number; readonly request_id: string })
    .filter(({ request_id: of }) => of === id);
  const [one, two] = asked.map(({ id: wait_id }) => wait_id);
  const send = async (wait_id: number | undefined, messageId: string): Promise<string> => {
    const message = {
      role: "ROLE_USER",
      messageId,
      taskId: id,
      parts: [{ data: { [wait_id === one ? "name" : "colour"]: "blue" } }],
      metadata: { wait_id },
    };
    const body = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
    const headers = { "a2a-version": "1.0", "a2a-extensions": "urn:troupe:a2a:repeated-messages" };
    return (await server.post("/a2a/interviewer", body, headers)).text();
  };
  expect(await send(one, "mine")).toContain("INPUT_REQUIRED");
  expect(await send(one, "mine")).toContain("INPUT_REQUIRED");
  await server.runtime.process("interviewer", {
    type: "ResumeWithInput",
    request_id: id,
    wait_id: two ?? 0,
    request_keys: { colour: "blue" },
  });
  expect(await send(two, "late")).toContain("is already answered");
});

test.each(["JSONRPC", "HTTP+JSON"])("lists tasks by pages and states over %s", async (binding) => {
  const client = await server.client("echo", binding);
  const contextId = `list-${binding.replace("+", "-")}`;
  for (const text of ["1", "2", "3"]) await client.sendMessage(say(text, { contextId }));
  const ask = {
    tenant: "",
    contextId,
    status: TaskState.TASK_STATE_UNSPECIFIED,
    statusTimestampAfter: undefined,
  } as const;
  const first = await client.listTasks({ ...ask, pageSize: 2, pageToken: "", includeArtifacts: true });
  expect(first.tasks.map(textOf)).toEqual(["3", "2"]);
  expect(first.tasks.map((task) => task.contextId)).toEqual([contextId, contextId]);
  const second = await client.listTasks({
    ...ask,
    pageSize: 2,
    pageToken: first.nextPageToken,
    includeArtifacts: true,
  });
  expect([second.tasks.map(textOf), second.nextPageToken]).toEqual([["1"], ""]);
  const none = await client.listTasks({ ...ask, status: TaskState.TASK_STATE_FAILED, pageToken: "" });
  expect(none.tasks).toEqual([]);
  const unknown = await client.listTasks({ ...ask, contextId: "none", pageToken: "" });
  expect(unknown.tasks).toEqual([]);
});

test("lists what waits for an answer in all contexts, and does not look at the rest", async () => {
  const busy = await A2aServer.start([interviewer]);
  const client = await busy.client("interviewer");
  const ids: string[] = [];
  for (let asked = 0; asked < 5; asked += 1) ids.push(((await client.sendMessage(say("go"))) as Task).id);
  const [first = "", ...waiting] = ids;
  await client.sendMessage(say({ name: "Ann" }, { taskId: first }));
  await client.sendMessage(say({ colour: "blue" }, { taskId: first }));
  const ask = { tenant: "", contextId: "", statusTimestampAfter: undefined, pageSize: 3 } as const;
  const listed: string[] = [];
  let last;
  for (let pageToken = ""; last === undefined || pageToken !== ""; pageToken = last.nextPageToken) {
    last = await client.listTasks({ ...ask, status: TaskState.TASK_STATE_INPUT_REQUIRED, pageToken });
    listed.push(...last.tasks.map(({ id }) => id));
  }
  expect([listed, last.totalSize]).toEqual([waiting.toReversed(), 4]);
  const over = await client.listTasks({ ...ask, status: TaskState.TASK_STATE_COMPLETED, pageToken: "" });
  expect(over.tasks.map(({ id }) => id)).toEqual([first]);
  const later = { ...ask, statusTimestampAfter: new Date(Date.now() + 60_000).toISOString() };
  const none = await client.listTasks({ ...later, status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: "" });
  expect(none.tasks).toEqual([]);
  await expect(
    client.listTasks({ ...ask, status: TaskState.TASK_STATE_COMPLETED, pageToken: "1~7~" }),
  ).rejects.toThrow("pageToken");
  await busy.close();
});

test("operations are skills, failures are states, and files have addresses", async () => {
  const client = await server.client("ticker");
  const card = await client.getAgentCard();
  expect(card.skills.map(({ id }) => id)).toEqual(["chat", "count"]);
  const counted = (await client.sendMessage(
    say({ to: 2, every_ms: 0 }, { metadata: { operation: "count" } }),
  )) as Task;
  expect(textOf(counted)).toBe("1\n2\n");
  const failed = (await (await server.client("stubborn")).sendMessage(say("x"))) as Task;
  expect([stateOf(failed), textIn(failed.status?.message?.parts ?? [])]).toEqual(["FAILED", "no"]);
  const wrote = (await (await server.client("scribe")).sendMessage(say("hello"))) as Task;
  const url = wrote.artifacts[0]?.parts[0]?.content;
  expect(url?.$case).toBe("url");
  expect(await (await fetch(url?.value as string)).text()).toBe("hello");
});

test("files of a client are attachments, also in a data URL, and other addresses reach the agent", async () => {
  const headers = { "content-type": "application/json", "a2a-version": "1.0" };
  const url = "https://example.com/x.png";
  const send = async (...parts: readonly object[]): Promise<Response> =>
    fetch(`${server.url}/a2a/mirror/v1/message:send`, {
      method: "POST",
      headers,
      body: JSON.stringify({ message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts } }),
    });
  const sent = await send(
    { text: "look" },
    { raw: "aGk=", filename: "a.txt", mediaType: "text/plain" },
    { url: "data:text/plain;base64,aG8=", filename: "b.txt" },
    { url, mediaType: "image/png" },
  );
  const { task } = (await sent.json()) as { readonly task: unknown };
  expect(JSON.parse(textOf(AnyTask.fromJSON(task)))).toMatchObject({
    input: "look",
    metadata: { content: [{ url, filename: "", media_type: "image/png" }] },
    files: [
      { name: "a.txt", type: "text/plain", text: "hi" },
      { name: "b.txt", type: "text/plain", text: "ho" },
    ],
  });
  const refused = await send({ url: "data:text/plain;base64,?" });
  expect([refused.status, await refused.text()]).toEqual([
    400,
    expect.stringContaining("message.parts.0.url"),
  ]);
});

test("the card at the root is that of the default agent, and open", async () => {
  const token = "a-token-of-enough-characters";
  await using guarded = await A2aServer.start([echo], { serve: { token } });
  for (const path of ["", "/a2a/echo"]) {
    const answer = await fetch(`${guarded.url}${path}/.well-known/agent-card.json`);
    expect(await answer.json()).toMatchObject({ name: "echo", url: `${guarded.url}/a2a/echo` });
  }
  const rpc = await guarded.post("/a2a/echo", {
    jsonrpc: "2.0",
    id: 1,
    method: "GetTask",
    params: { id: "x" },
  });
  expect([rpc.status, await rpc.json()]).toMatchObject([401, { jsonrpc: "2.0", error: {} }]);
  expect((await fetch(`${guarded.url}/a2a/echo/v1/tasks`)).status).toBe(401);
});

test(
  "a server that is killed in the middle of a task continues with the same bytes",
  { tags: "long" },
  async () => {
    await using killed = await ServerProcess.create();
    let url = await killed.start();
    const client = await connect(url, "ticker");
    const task = (await client.sendMessage(say("3 1000", { returnImmediately: true }))) as Task;
    const before: unknown[] = [];
    await (async () => {
      for await (const update of client.resubscribeTask({ tenant: "", id: task.id })) {
        before.push(update);
        if (update.payload?.$case === "artifactUpdate") break;
      }
    })();
    url = await killed.restart();
    const after: unknown[] = [];
    const again = await connect(url, "ticker");
    for await (const update of again.resubscribeTask({ tenant: "", id: task.id })) after.push(update);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(textOf(await again.getTask({ tenant: "", id: task.id }))).toBe("1\n2\n3\n");
  },
);
