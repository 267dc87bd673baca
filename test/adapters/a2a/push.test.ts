import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Task } from "@a2a-js/sdk";
import type { TaskPushNotificationConfig } from "@a2a-js/sdk";
import { TaskNotFoundError } from "@a2a-js/sdk/errors";
import { createRuntime } from "troupe";
import type { Principal } from "troupe";
import { a2a } from "troupe/adapters/a2a";
import { serve } from "troupe/node";
import { createWebhooks } from "troupe/webhooks";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { interviewer } from "../../../agents/interviewer.ts";
import { ServerProcess } from "../../flows/server.ts";
import { A2aServer, connect, say, stateOf, textOf } from "./server.ts";
import { shortened } from "../../machine/long.ts";

/** A receiver of notifications. */
interface Told {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

let url: string;
let status = 204;
let attempts = 0;
const told: Told[] = [];
const receiver = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    attempts += 1;
    response.writeHead(status).end();
    if (status >= 300) return;
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Told["body"];
    told.push({ path: request.url ?? "", headers: request.headers, body });
  });
});

let server: ServerProcess;
let address: string;
beforeAll(async () => {
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  server = await ServerProcess.create(new URL("push-server.ts", import.meta.url).pathname);
  address = await server.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  receiver.closeAllConnections();
  receiver.close();
});

/** What came to a path, when it is so much. */
async function toldAt(path: string, count: number): Promise<readonly Told[]> {
  await expect.poll(() => told.filter((one) => one.path === path).length, { timeout: 20_000 }).toBe(count);
  return told.filter((one) => one.path === path);
}

function config(path: string, more: Partial<TaskPushNotificationConfig> = {}): TaskPushNotificationConfig {
  return { tenant: "", taskId: "", id: "", url: url + path, token: "", authentication: undefined, ...more };
}

function withConfig(text: string, taskPushNotificationConfig: TaskPushNotificationConfig) {
  const request = say(text, { returnImmediately: true });
  return {
    ...request,
    configuration: { acceptedOutputModes: [], returnImmediately: true, taskPushNotificationConfig },
  };
}

/** The task of a notification, as its version has it. */
function taskIn(
  { body }: Told,
  binding: string,
): { readonly id: string; readonly state: string; readonly text: string } {
  if (binding === "0.3") {
    const {
      id,
      status: now,
      artifacts,
    } = body as unknown as {
      readonly id: string;
      readonly status: { readonly state: string };
      readonly artifacts?: readonly { readonly parts: readonly { readonly text: string }[] }[];
    };
    const text = (artifacts ?? []).flatMap(({ parts }) => parts.map((part) => part.text)).join("");
    return { id, state: now.state.toUpperCase().replace("-", "_"), text };
  }
  const task = Task.fromJSON(body["task"]);
  return { id: task.id, state: stateOf(task), text: textOf(task) };
}

describe.each(shortened(["JSONRPC", "HTTP+JSON", "0.3"], 1))(
  "the client of the protocol over %s",
  (binding) => {
    const at = (path: string): string => `/${binding.replace("+", "-")}/${path}`;

    test("sends the end of a task to the receiver in its message", async () => {
      const client = await connect(address, "echo", binding);
      expect((await client.getAgentCard()).capabilities?.pushNotifications).toBe(true);
      const sent = withConfig("to be", config(at("end"), { token: "token of mine" }));
      const task = (await client.sendMessage(sent)) as Task;
      const [end] = await toldAt(at("end"), 1);
      expect(end?.headers["x-a2a-notification-token"]).toBe("token of mine");
      expect(end?.headers["content-type"]).toBe(
        binding === "0.3" ? "application/json" : "application/a2a+json",
      );
      expect(end && taskIn(end, binding)).toEqual({ id: task.id, state: "COMPLETED", text: "to be" });
    });

    test("adds, reads, lists and removes receivers, which are told of the question and of the end", async () => {
      const client = await connect(address, "interviewer", binding);
      const { id: taskId } = (await client.sendMessage(say("go"))) as Task;
      const given = config(at("kept"), {
        taskId,
        id: "kept",
        authentication: { scheme: "Bearer", credentials: "a-secret" },
      });
      await client.createTaskPushNotificationConfig(given);
      await client.createTaskPushNotificationConfig(config(at("gone"), { taskId, id: "gone" }));
      const known = await client.getTaskPushNotificationConfig({ tenant: "", taskId, id: "kept" });
      expect(known).toMatchObject({ taskId, id: "kept", url: given.url });
      expect(JSON.stringify(known)).not.toContain("a-secret");
      await client.deleteTaskPushNotificationConfig({ tenant: "", taskId, id: "gone" });
      const list = await client.listTaskPushNotificationConfig({
        tenant: "",
        taskId,
        pageSize: 0,
        pageToken: "",
      });
      expect(list.configs.map(({ id }) => id)).toEqual(["kept"]);
      await expect(client.getTaskPushNotificationConfig({ tenant: "", taskId, id: "gone" })).rejects.toThrow(
        TaskNotFoundError,
      );

      await client.sendMessage(say({ colour: "blue" }, { taskId }));
      await client.sendMessage(say({ name: "Ann" }, { taskId }));
      await expect
        .poll(() => told.filter((one) => one.path === at("kept")).map((one) => taskIn(one, binding).state))
        .toContain("COMPLETED");
      const ends = told.filter((one) => one.path === at("kept"));
      expect(ends.at(-1)?.headers.authorization).toBe("Bearer a-secret");
      expect(ends.map((one) => taskIn(one, binding)).at(-1)).toEqual({
        id: taskId,
        state: "COMPLETED",
        text: "Ann likes blue.",
      });
      // It may have been told of the open question before it was removed, and of nothing that came later.
      const removed = told.filter((one) => one.path === at("gone")).map((one) => taskIn(one, binding).state);
      expect(["", "INPUT_REQUIRED"]).toContain(removed.join());
    });
  },
);

test(
  "a receiver that was away is told after the server was killed, and its token is in no file of the log",
  { tags: "long" },
  async () => {
    const client = await connect(address, "interviewer");
    status = 503;
    onTestFinished(() => {
      status = 204;
    });
    const before = attempts;
    const task = (await client.sendMessage(
      withConfig("go", config("/killed", { token: "of-the-killed" })),
    )) as Task;
    await expect.poll(() => attempts, { timeout: 20_000 }).toBeGreaterThan(before);
    await server.kill();
    status = 204;
    address = await server.start();
    const [asked] = await toldAt("/killed", 2);
    expect(asked?.headers["x-a2a-notification-token"]).toBe("of-the-killed");
    expect(asked && taskIn(asked, "1.0")).toMatchObject({ id: task.id, state: "INPUT_REQUIRED" });
    const files = await readdir(server.directory, { recursive: true, withFileTypes: true });
    for (const file of files.filter((entry) => entry.isFile()))
      expect(await readFile(join(file.parentPath, file.name), "latin1")).not.toContain("of-the-killed");
  },
);

test("a receiver goes away when it was told of the end of its task, and with it the run that remembers it", async () => {
  const client = await connect(address, "interviewer");
  const { id: taskId } = (await client.sendMessage(
    withConfig("go", config("/leaves", { token: "of-the-one-that-leaves" })),
  )) as Task;
  const other = config("/leaves-too", { taskId, id: "other" });
  await client.createTaskPushNotificationConfig(other);
  const remembered = async (): Promise<number> => {
    const response = await fetch(`${address}/runs?agent=webhook&limit=100`);
    const runs = (await response.json()) as readonly { readonly key?: string }[];
    return runs.filter(({ key = "" }) => key.startsWith("push:")).length;
  };
  const before = await remembered();
  expect(before).toBeGreaterThan(0);
  await client.sendMessage(say({ colour: "blue" }, { taskId }));
  await client.sendMessage(say({ name: "Ann" }, { taskId }));
  for (const path of ["/leaves", "/leaves-too"])
    await expect
      .poll(() => told.filter((one) => one.path === path).map((one) => taskIn(one, "1.0").state), {
        timeout: 20_000,
      })
      .toContain("COMPLETED");
  await expect.poll(remembered, { timeout: 20_000 }).toBe(before - 1);
  const list = { tenant: "", taskId, pageSize: 0, pageToken: "" };
  expect((await client.listTaskPushNotificationConfig(list)).configs).toEqual([]);
  await expect(client.createTaskPushNotificationConfig(other)).rejects.toThrow("is over");
  expect(await remembered()).toBe(before - 1);
});

test("with a run that is erased go the receivers of its tasks, and only those", async () => {
  const hooks = createWebhooks([]);
  const runtime = createRuntime({ agents: [interviewer, hooks.agent] });
  const own = await serve(runtime, {
    drain: false,
    adapters: [a2a({ push: hooks.push })],
    listeners: [hooks],
  });
  onTestFinished(async () => {
    await own.close({ graceMs: 0 });
    await runtime.close();
  });
  const client = await connect(own.url, "interviewer");
  const begin = async (): Promise<Task> => {
    const hook = { ...config("", { token: "of-an-erased-task" }), url: "https://hooks.example/" };
    return (await client.sendMessage(withConfig("go", hook))) as Task;
  };
  const erased = await begin();
  const kept = await begin();
  const keys = async (): Promise<readonly string[]> => {
    const { runs } = await runtime.runs({ agent: "webhook", limit: 100 });
    return runs.flatMap(({ key = "" }) => (key.startsWith("push:") ? [key] : []));
  };
  const before = await keys();
  expect(before).toHaveLength(2);

  const { run_id: runId } = await runtime.status(erased.id);
  expect(await runtime.erase({ runId })).toBe(1);
  expect(await keys()).toHaveLength(1);
  const list = { tenant: "", taskId: kept.id, pageSize: 0, pageToken: "" };
  expect((await client.listTaskPushNotificationConfig(list)).configs).toHaveLength(1);
});

test("without webhooks the card and the refusals say that there is no push", async () => {
  await using plain = await A2aServer.start([echo]);
  const client = await plain.client("echo");
  expect((await client.getAgentCard()).capabilities?.pushNotifications).toBe(false);
  const task = (await client.sendMessage(say("x"))) as Task;
  const post = async (method: string, params: object): Promise<string> => {
    const body = { jsonrpc: "2.0", id: 1, method, params };
    return (await plain.post("/a2a/echo", body, { "a2a-version": "1.0" })).text();
  };
  const receiverOf = config("/x", { taskId: task.id });
  expect(await post("CreateTaskPushNotificationConfig", receiverOf)).toContain("-32003");
  expect(await post("SendMessage", withConfig("x", receiverOf))).toContain("-32003");
  expect((await plain.runtime.runs({ limit: 10 })).runs).toHaveLength(1);
});

test("nothing goes to a private address, and no owner sees or tells the tasks of another", async () => {
  const hooks = createWebhooks([]);
  const runtime = createRuntime({ agents: [echo, interviewer, hooks.agent] });
  const own = await serve(runtime, {
    drain: false,
    adapters: [a2a({ push: hooks.push })],
    listeners: [hooks],
    authenticate: (request): Principal => {
      const owner = request.headers.get("authorization") ?? "none";
      return { id: owner, owner, roles: ["user"] };
    },
  });
  onTestFinished(async () => {
    await own.close({ graceMs: 0 });
    await runtime.close();
  });
  const rpc = async (owner: string, method: string, params: object): Promise<string> => {
    const headers = { "content-type": "application/json", "a2a-version": "1.0", authorization: owner };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    return (await fetch(`${own.url}/a2a/interviewer`, { method: "POST", headers, body })).text();
  };
  const message = { role: "ROLE_USER", messageId: "1", parts: [{ text: "go" }] };
  const sent = await rpc("acme", "SendMessage", { message });
  const { id: taskId } = (JSON.parse(sent) as { readonly result: { readonly task: Task } }).result.task;
  const set = (owner: string, more: object): Promise<string> =>
    rpc(owner, "CreateTaskPushNotificationConfig", { taskId, ...more });
  for (const refused of [
    "http://hooks.example/x",
    "https://127.0.0.1/x",
    "https://[::1]/x",
    "https://169.254.169.254/latest",
    "https://2130706433/",
    "ftp://hooks.example",
    "",
  ])
    expect(await set("acme", { url: refused })).toContain('"error"');
  expect(await set("acme", { url: "https://hooks.example", token: "a\r\nb: c" })).toContain('"error"');
  expect(await set("acme", { url: "https://hooks.example", id: "x".repeat(500) })).toContain('"error"');
  expect(await set("other", { url: "https://hooks.example" })).toContain("-32001");
  for (let count = 0; count < 10; count += 1)
    expect(await set("acme", { id: `r${count}`, url: "https://localhost/" })).toContain('"result"');
  expect(await set("acme", { id: "more", url: "https://hooks.example" })).toContain("one receiver more");
  expect(await rpc("other", "ListTaskPushNotificationConfigs", { taskId })).toContain("-32001");
  await rpc("acme", "CancelTask", { id: taskId });
  // What its name leads to is known when it is sent.
  const text = async (): Promise<string> => {
    const { runs } = await runtime.runs({ agent: "webhook", owner: "acme", limit: 100 });
    const pages = await Promise.all(
      runs.map(({ run_id: runId }) =>
        runtime.read({ kind: "run", runId, agent: "webhook" }, { after: 0, filter: { level: "all" } }),
      ),
    );
    return pages.flatMap(({ events }) => events).join();
  };
  await expect.poll(text).toContain("localhost has an address that is not public");
});
