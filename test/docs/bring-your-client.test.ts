import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, defineAgent } from "troupe";
import { agentic } from "troupe/adapters/agentic";
import type { Adapter } from "troupe/http";
import { serve } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import { openWires, WIRES } from "../../src/cli/serve/wires.ts";
import { root } from "./blocks.ts";

// What the clients of the page send, as they send it: no registry of this project has them.

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

test.each([
  ["http://127.0.0.1:4100", "hello"],
  ["http://127.0.0.1:4100/AGENT", "HELLO"],
])("the clients of the classic protocol work with the base %s", async (base, said) => {
  const address = addressOf(await start(await openWires(WIRES)), base);
  const accept = { accept: "application/json" };
  const created = await post(
    `${address}/ap/v1/agent/tasks`,
    { input: "hello", additional_input: null },
    accept,
  );
  const { task_id: task } = (await created.json()) as { readonly task_id: string };
  const step = await post(
    `${address}/ap/v1/agent/tasks/${task}/steps`,
    { input: null, additional_input: null },
    accept,
  );
  expect(await step.json()).toMatchObject({ task_id: task, output: said, is_last: true, artifacts: [] });
  const list = await fetch(`${address}/ap/v1/agent/tasks?current_page=1&page_size=10`, { headers: accept });
  expect(await list.json()).toMatchObject({ tasks: [{ task_id: task }] });
});

test.each([
  ["http://127.0.0.1:4100/process", "hello"],
  ["http://127.0.0.1:4100/agentscope/AGENT/process", "HELLO"],
])("HTTPAgentAPIClient and the web UI work with the address %s", async (endpoint, said) => {
  const address = addressOf(await start(await openWires(WIRES)), endpoint);
  const content = [
    { type: "text", object: "content", text: "hello", delta: false, msg_id: null, index: null },
  ];
  const input = [
    { sequence_number: null, object: "message", id: "msg_1", type: "message", role: "user", content },
  ];
  const body = {
    input,
    stream: true,
    model: null,
    top_p: null,
    temperature: null,
    tools: null,
    session_id: "s1",
  };
  const streamed = await post(address, body, { accept: "text/event-stream" });
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
  const login = await fetch(`${open}/login`, { method: "POST" });
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
  const refused = await fetch(`${closed}/login`, { method: "POST" });
  expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining("auth_token")]);
  expect(page).toContain('localStorage.setItem("auth_token", "TOKEN")');
  expect((await fetch(`${closed}/_discovery`)).status).toBe(401);
  // The page sends what is under this name with each of its requests.
  const own = { headers: { authorization: `Bearer ${TOKEN}` } };
  expect((await fetch(`${closed}/_discovery`, own)).status).toBe(200);
});
