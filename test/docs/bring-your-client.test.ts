import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createRuntime, defineAgent } from "troupe";
import { agentic } from "troupe/adapters/agentic";
import type { Adapter } from "troupe/http";
import { serve } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import { openWires, WIRES } from "../../src/cli/serve/wires.ts";
import { skipWithout } from "../machine/skip-without.ts";
import { findBlocks, root } from "./blocks.ts";

// No registry has these clients. So the programs of the page run with stand-ins, which have their names and send what they send, and
// what their pages send is sent here.

const page = readFileSync(join(root, "docs/protocols/bring-your-client.md"), "utf8");
const ORIGIN = "http://localhost:5173";
const TOKEN = "a-token-of-the-server";

const echo = defineAgent({ name: "echo", purpose: "Repeats.", chat: (input) => input });
const shout = defineAgent({ name: "shout", purpose: "Shouts.", chat: (input) => input.toUpperCase() });

async function start(
  adapters: readonly Adapter[],
  options: { readonly token?: string; readonly native?: boolean } = {},
): Promise<string> {
  const runtime = createRuntime({ agents: [echo, shout] });
  const server = await serve(runtime, { drain: false, adapters, allowedOrigins: [ORIGIN], ...options });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  return server.url;
}

/** An address of the page on the server of a test, for the agent `shout` where the page has AGENT. */
function addressOf(url: string, address: string): string {
  expect(page).toContain(`\`${address}\``);
  return address.replace("http://127.0.0.1:4100", url).replace("AGENT", "shout");
}

async function post(
  address: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(address, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

const PAGE = "docs/protocols/bring-your-client.md";
const CLIENTS = join(import.meta.dirname, "clients");

/** The only program below a heading, for the agent `shout` of a server. */
function programOf(heading: string, language: string, url: string): string {
  const [block = "", ...others] = findBlocks(PAGE, heading, language);
  expect(others).toEqual([]);
  expect(block.trim().split("\n").length).toBeLessThanOrEqual(12);
  return block
    .replace("http://127.0.0.1:4100", url)
    .replace("AGENT", "shout")
    .replace("Bearer TOKEN", `Bearer ${TOKEN}`)
    .replace('token="TOKEN"', `token="${TOKEN}"`);
}

/** Runs a program, and returns what it prints. */
async function run(program: string, name: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "troupe-clients-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, name);
  await writeFile(file, program);
  const [command, env] = name.endsWith(".py")
    ? ["python3", { PYTHONPATH: join(CLIENTS, "python"), PYTHONDONTWRITEBYTECODE: "1" }]
    : [process.execPath, {}];
  const { stdout } = await promisify(execFile)(command, [file], { env: { ...process.env, ...env } });
  return stdout;
}

const hasPython = spawnSync("python3", ["--version"]).status === 0;

test("the program for the TypeScript client of the classic protocol works", { tags: "long" }, async () => {
  const url = await start(await openWires(WIRES), { token: TOKEN });
  const program = programOf("## Classic Agent Protocol: the TypeScript client", "ts", url);
  const client = join(CLIENTS, "agent-protocol-client.ts");
  expect(await run(program.replace('"agent-protocol-client"', JSON.stringify(client)), "client.ts")).toBe(
    "HELLO\n",
  );
});

test.for(["## Classic Agent Protocol: the Python client", "## AgentScope: `HTTPAgentAPIClient`"])(
  "the program below %s works",
  { tags: "long" },
  async (heading, { skip }) => {
    if (!hasPython) skipWithout(skip, "needs Python: install it (apt-get install python3)");
    const url = await start(await openWires(WIRES), { token: TOKEN });
    expect(await run(programOf(heading, "python", url), "client.py")).toBe("HELLO\n");
  },
);

test.each([
  ["http://127.0.0.1:4100", "hello"],
  ["http://127.0.0.1:4100/AGENT", "HELLO"],
])("the clients of the classic protocol work with the base %s", async (base, said) => {
  const address = addressOf(await start(await openWires(WIRES)), base);
  const tasks = `${address}/ap/v1/agent/tasks`;
  const accept = { accept: "application/json", "user-agent": "OpenAPI-Generator/1.0.0/python" };
  const created = await post(tasks, { input: "hello" }, accept);
  const { task_id: task } = (await created.json()) as { readonly task_id: string };
  const step = await post(`${tasks}/${task}/steps`, { input: null }, accept);
  expect(await step.json()).toMatchObject({ task_id: task, output: said, is_last: true, artifacts: [] });
  const form = new FormData();
  form.append("file", new Blob(["a text"]), "a.txt");
  form.append("relative_path", "notes");
  const stored = await fetch(`${tasks}/${task}/artifacts`, { method: "POST", body: form });
  expect(await stored.json()).toMatchObject({ file_name: "a.txt", relative_path: "notes" });
  const list = await fetch(`${tasks}?current_page=1&page_size=10`, { headers: accept });
  expect(await list.json()).toMatchObject({ tasks: [{ task_id: task }] });
});

test.each([
  ["http://127.0.0.1:4100/process", "hello"],
  ["http://127.0.0.1:4100/agentscope/AGENT/process", "HELLO"],
])("HTTPAgentAPIClient and the web UI work with the address %s", async (endpoint, said) => {
  const address = addressOf(await start(await openWires(WIRES)), endpoint);
  // It leaves out what is None.
  const content = [{ object: "content", delta: false, type: "text", text: "hello" }];
  const message = {
    object: "message",
    status: "created",
    id: "msg_1",
    type: "message",
    role: "user",
    content,
  };
  const body = { input: [message], stream: true, session_id: "s1" };
  const streamed = await post(address, body, {
    accept: "text/event-stream",
    "cache-control": "no-cache",
  });
  expect(await streamed.text()).toContain(`"text":"${said}"`);

  const preflight = await fetch(address, {
    method: "OPTIONS",
    headers: {
      origin: ORIGIN,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
    },
  });
  expect(preflight.headers.get("access-control-allow-origin")).toBe(ORIGIN);
  const shown = await post(
    address,
    { input: [{ role: "user", content: [{ type: "text", text: "hello" }] }], session_id: "s2", stream: true },
    { origin: ORIGIN },
  );
  expect(shown.headers.get("access-control-allow-origin")).toBe(ORIGIN);
  expect(await shown.text()).toContain('"status":"completed"');
  expect((await post(address, body, { origin: "http://elsewhere.example" })).status).toBe(403);
});

test("the dashboard works at the root of a port, and with a token as the page says", async () => {
  const open = await start([agentic({ base: "" })], { native: false });
  expect(await (await fetch(`${open}/_discovery`)).json()).toEqual(["/echo", "/shout"]);
  const logIn = (url: string): Promise<Response> =>
    fetch(`${url}/login`, { method: "POST", headers: { "content-type": "application/json" }, body: "" });
  const login = await logIn(open);
  expect(await login.json()).toEqual({ token: expect.any(String) as string });
  const accepted = (await (
    await post(`${open}/shout/process`, { prompt: "hello", thread_id: "NEW" })
  ).json()) as {
    readonly request_id: string;
    readonly thread_id: string;
  };
  const events = await fetch(`${open}/shout/getevents?request_id=${accepted.request_id}&stream=true`);
  expect(await events.text()).toContain('"content":"HELLO"');
  const logs = await fetch(`${open}/shout/threads/${accepted.thread_id}/logs`);
  expect(await logs.text()).toContain('"event_name":"turn_end"');

  const closed = await start([agentic({ base: "" })], { native: false, token: TOKEN });
  const refused = await logIn(closed);
  expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining("auth_token")]);
  expect(page).toContain('localStorage.setItem("auth_token", "TOKEN")');
  expect((await fetch(`${closed}/_discovery`)).status).toBe(401);
  // The page sends what is under this name with each of its requests.
  const own = { headers: { authorization: `Bearer ${TOKEN}` } };
  expect((await fetch(`${closed}/_discovery`, own)).status).toBe(200);
});
