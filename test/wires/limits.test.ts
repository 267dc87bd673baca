import { randomUUID } from "node:crypto";
import { createRuntime } from "troupe";
import type { OwnerLimits } from "troupe";
import { aipGateway } from "troupe/adapters/aip";
import { serve } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { openWires, WIRES } from "../../src/cli/serve/wires.ts";
import { Client, textOf } from "../adapters/aip/peers/client.ts";
import type { Addresses } from "./serve-wires.ts";

/** Serves an agent over all wires to an owner that has reached a limit. */
async function serveFull(limits: OwnerLimits): Promise<Addresses> {
  const runtime = createRuntime({ agents: [echo], owners: () => limits });
  await runtime.ready();
  const { url, listeners, close } = await serve(runtime, {
    port: 0,
    drain: false,
    adapters: await openWires(WIRES),
    listeners: [aipGateway()],
  });
  onTestFinished(async () => {
    await close();
    await runtime.close();
  });
  return { url, aip: listeners[0]?.address ?? "" };
}

interface Refusal {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: string;
}

async function refused(url: string, body: object): Promise<Refusal> {
  const headers = { "content-type": "application/json", "a2a-version": "1.0" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, retryAfter: answer.headers.get("retry-after"), body: text };
}

const message = { role: "user", content: [{ type: "text", text: "hi" }] };

const said = { id: "1", role: "user", content: "hi" };

const requests: readonly (readonly [wire: string, path: string, body: object])[] = [
  ["native", "/echo/process", { type: "ChatRequest", input: "hi" }],
  ["native with a stream", "/echo/process?stream=true", { type: "ChatRequest", input: "hi" }],
  ["AgentScope", "/agentscope/echo/process", { input: [message], stream: false }],
  ["AgentScope with a stream", "/agentscope/echo/process", { input: [message] }],
  ["classic", "/echo/ap/v1/agent/tasks", { input: "hi" }],
  ["agentic", "/agentic/echo/process", { prompt: "hi" }],
  [
    "A2A",
    "/a2a/echo/v1/message:send",
    { message: { messageId: "1", role: "ROLE_USER", parts: [{ text: "hi" }] } },
  ],
  ["AG-UI", "/ag-ui/echo", { threadId: "t", runId: "r", messages: [said] }],
  ["AI SDK UI", "/ui/echo", { id: "c", messages: [{ ...said, parts: [{ type: "text", text: "hi" }] }] }],
  ["OpenAI chat", "/v1/chat/completions", { model: "echo", messages: [said], stream: true }],
  ["OpenAI responses", "/v1/responses", { model: "echo", input: "hi" }],
];

test("a request above the rate of its owner is 429 with Retry-After in the words of each wire", async () => {
  const { url, aip } = await serveFull({ requestsPerMinute: 0 });
  for (const [wire, path, body] of requests) {
    const refusal = await refused(`${url}${path}`, body);
    expect({ wire, ...refusal }).toMatchObject({ wire, status: 429, retryAfter: "60" });
    expect(refusal.body).toContain("default has reached its limit of 0 requests in a minute");
  }
  using client = new Client(aip);
  const session = client.session({ receiver_id: "echo", session_id: randomUUID() });
  session.start("hi", { message_id: randomUUID() });
  // A session goes on after a refusal, which is a text of its own.
  expect(textOf(await session.next())).toContain("default has reached its limit of 0 requests in a minute");
  session.stop();
  await session.status;
});

test("a request of an owner that has stored too much is 507 with Retry-After in the words of each wire", async () => {
  const { url, aip } = await serveFull({ storedBytes: 0 });
  for (const [wire, path, body] of requests) {
    const refusal = await refused(`${url}${path}`, body);
    expect({ wire, ...refusal }).toMatchObject({ wire, status: 507, retryAfter: "60" });
    expect(refusal.body).toContain("have reached their limit of 0 bytes");
  }
  using client = new Client(aip);
  const session = client.session({ receiver_id: "echo", session_id: randomUUID() });
  session.start("hi", { message_id: randomUUID() });
  expect(textOf(await session.next())).toContain("have reached their limit of 0 bytes");
  session.stop();
  await session.status;
});

test("a file above the limit of its owner is 507", async () => {
  const { url } = await serveFull({ uploadBytes: 5 });
  const form = new FormData();
  form.append("file", new Blob(["more than five bytes"]), "a.txt");
  const answer = await fetch(`${url}/artifacts`, { method: "POST", body: form });
  expect(answer.status).toBe(507);
  expect(answer.headers.get("retry-after")).toBe("60");
});
