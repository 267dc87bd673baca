import { createRuntime, defineAgent } from "troupe";
import { mcp } from "troupe/adapters/mcp";
import { mcpTools } from "troupe/llm";
import { serve } from "troupe/node";
import type { ServeOptions } from "troupe/node";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { connectNew } from "./clients.ts";

async function start(settings: ServeOptions = {}): Promise<string> {
  const runtime = createRuntime({ agents: [echo, payments] });
  const server = await serve(runtime, { port: 0, drain: false, adapters: [mcp()], ...settings });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  return server.url;
}

const JSON_TYPE = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const LIST = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });

interface Refused {
  readonly jsonrpc: string;
  readonly error: {
    readonly code: number;
    readonly message: string;
    readonly data?: { readonly code: string };
  };
}

async function refused(url: string, init: RequestInit): Promise<Refused & { readonly status: number }> {
  const answer = await fetch(url, init);
  return { status: answer.status, ...((await answer.json()) as Refused) };
}

test("requests without a token, from foreign pages, too large or to unknown routes are refused in the words of JSON-RPC", async () => {
  const url = await start({ token: "a-secret-of-the-server", bodyLimitBytes: 10_000 });
  const headers = { ...JSON_TYPE, authorization: "Bearer a-secret-of-the-server" };
  const cases: readonly (readonly [status: number, code: string, path: string, init: RequestInit])[] = [
    [401, "unauthorized", "/mcp", { method: "POST", headers: JSON_TYPE, body: LIST }],
    [401, "unauthorized", "/mcp/echo", { method: "POST", headers: JSON_TYPE, body: LIST }],
    [
      403,
      "forbidden",
      "/mcp",
      { method: "POST", headers: { ...headers, origin: "https://evil.test" }, body: LIST },
    ],
    [413, "too_large", "/mcp", { method: "POST", headers, body: `"${"a".repeat(20_000)}"` }],
    [404, "not_found", "/mcp/nobody", { method: "POST", headers, body: LIST }],
    [404, "not_found", "/mcp/echo/more", { method: "POST", headers, body: LIST }],
    [405, "method_not_allowed", "/mcp", { method: "GET", headers }],
    [405, "method_not_allowed", "/mcp", { method: "DELETE", headers }],
  ];
  for (const [status, code, path, init] of cases) {
    expect({ path, ...(await refused(url + path, init)) }).toMatchObject({
      path,
      status,
      jsonrpc: "2.0",
      error: { data: { code } },
    });
  }
  const answer = await fetch(`${url}/mcp`, { method: "POST", headers, body: LIST });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  await answer.body?.cancel();
  const client = await connectNew(url, { token: "a-secret-of-the-server" });
  expect(await client.list()).not.toHaveLength(0);
});

test("no body causes an error of the server", { tags: "long" }, async () => {
  const url = await start();
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "a", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
  };
  const method = fc.oneof(
    fc.constantFrom(
      "tools/list",
      "tools/call",
      "resources/list",
      "resources/read",
      "initialize",
      "subscriptions/listen",
      "server/discover",
      "ping",
    ),
    fc.string(),
  );
  const args = fc.oneof(
    fc.record(
      { request_id: fc.jsonValue(), wait_id: fc.jsonValue(), values: fc.jsonValue() },
      { requiredKeys: [] },
    ),
    fc.record({ input: fc.jsonValue(), run_id: fc.jsonValue() }, { requiredKeys: [] }),
    fc.jsonValue(),
  );
  const params = fc.oneof(
    fc.record(
      {
        name: fc.constantFrom("echo", "echo__repeat", "payments", "answer", "none", "__proto__"),
        arguments: args,
        uri: fc.oneof(fc.string(), fc.constantFrom("run://a", "run://a?after=9", `${url}/artifacts/x`)),
        requestState: fc.jsonValue(),
        inputResponses: fc.jsonValue(),
        _meta: fc.oneof(
          fc.constant(meta),
          fc.jsonValue(),
          fc.record({ request_id: fc.jsonValue(), progressToken: fc.jsonValue() }),
        ),
      },
      { requiredKeys: [] },
    ),
    fc.jsonValue(),
  );
  const body = fc.oneof(
    fc
      .record({ jsonrpc: fc.constant("2.0"), id: fc.oneof(fc.integer(), fc.string()), method, params })
      .map((value) => JSON.stringify(value)),
    fc.json(),
    fc.string(),
  );
  const check = fc.asyncProperty(
    body,
    fc.constantFrom("/mcp", "/mcp/echo"),
    fc.boolean(),
    async (text, path, isModern) => {
      const headers = { ...JSON_TYPE, ...(isModern && { "mcp-protocol-version": "2026-07-28" }) };
      const answer = await fetch(url + path, {
        method: "POST",
        headers,
        body: text,
        signal: AbortSignal.timeout(20_000),
      });
      expect(answer.status).toBeLessThan(500);
      expect(await answer.text()).not.toMatch(/unexpected error|internal server error|node_modules/i);
    },
  );
  await fc.assert(check, { numRuns: Number(process.env["WIRE_BODIES"] ?? 300) });
});

test("an agent of one server has the agents of another as its tools", async () => {
  const url = await start();
  const tools = mcpTools({ url: `${url}/mcp` });
  onTestFinished(() => tools.close());
  const caller = defineAgent({
    name: "caller",
    purpose: "Calls an agent elsewhere.",
    tools: [tools.tool("echo")],
    async chat(input, turn) {
      const repeated = await turn.tool(tools.tool("echo__repeat"), { text: input, times: 2 });
      return `${JSON.stringify(repeated)} ${String(await turn.tool(tools.tool("echo"), { input }))}`;
    },
  });
  const runtime = createRuntime({ agents: [caller] });
  onTestFinished(() => runtime.close());
  const receipt = await runtime.process("caller", { type: "ChatRequest", input: "ab" });
  const end = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  expect(JSON.parse(end ?? "{}")).toMatchObject({ finish_reason: "success", result: '{"text":"abab"} ab' });
});
