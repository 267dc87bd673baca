import { serve } from "@hono/node-server";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { defineAgent, defineTool } from "troupe";
import { mcpTools } from "troupe/llm";
import { expect, test } from "vitest";
import { z } from "zod";
import { assistant } from "../../../agents/assistant.ts";
import { echo } from "../../../agents/echo.ts";
import { Gates } from "../gates.ts";
import { mirror } from "./harness/agents.ts";
import { anyText, checkResponse, dataOf, lastOf, messagesOf, textsOf } from "./harness/objects.ts";
import { approve, say, TestServer } from "./harness/server.ts";

const SESSION = { session_id: "s", user_id: "u" };

const lamp = {
  type: "function",
  function: { name: "lamp", description: "Switches the lamp.", parameters: { type: "object" } },
};

/** A message with the results of tools that the client has run. */
function results(...outputs: readonly object[]): object {
  const input = outputs.map((data) => ({
    role: "tool",
    type: "function_call_output",
    content: [{ type: "data", data }],
  }));
  return { input, ...SESSION };
}

/** An MCP server with one tool, on a free port until it is disposed of. */
async function mcpServer() {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "station", version: "1" });
    server.registerTool("degrees", { inputSchema: z.object({ city: z.string() }) }, ({ city }) => ({
      content: [{ type: "text", text: `${city}: 4` }],
    }));
    return server;
  });
  const http = serve({ fetch: (request) => handler.fetch(request), hostname: "127.0.0.1", port: 0 });
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, [Symbol.asyncDispose]: async () => void http.close() };
}

test("the call of a tool of an MCP server is mcp_call, with the name of the server", async () => {
  await using station = await mcpServer();
  await using tools = mcpToolsOf(station.url);
  const caller = defineAgent({
    name: "caller",
    purpose: "Asks the station.",
    tools: [tools.server.tool("degrees")],
    async chat(city, turn) {
      await turn.tool(tools.server.tool("degrees"), { city });
    },
  });
  await using server = await TestServer.start([caller]);
  const objects = await (await server.open(say("Oslo"))).all();
  checkResponse(objects);
  const call = { call_id: anyText, name: "degrees" };
  const args = { arguments: '{"city":"Oslo"}' };
  expect(dataOf(lastOf(objects), "mcp_call")).toEqual([{ ...call, ...args, server_label: "station" }]);
  expect(dataOf(lastOf(objects), "mcp_call_output")).toEqual([{ ...call, output: "Oslo: 4" }]);
});

function mcpToolsOf(url: string) {
  const server = mcpTools({ url }, { name: "station" });
  return { server, [Symbol.asyncDispose]: () => server.close() };
}

test("the call of an agent is component_call where the server is asked for it, else plugin_call", async () => {
  const boss = defineAgent({
    name: "boss",
    purpose: "Calls.",
    uses: { echo },
    async chat(input, turn) {
      await turn.call(echo, "chat", { input });
    },
  });
  for (const [components, type] of [
    [true, "component_call"],
    [false, "plugin_call"],
  ] as const) {
    await using server = await TestServer.start([boss, echo], { components });
    const objects = await (await server.open(say("a"), "/agentscope/boss/process")).all();
    checkResponse(objects);
    expect(dataOf(lastOf(objects), type)).toEqual([
      { call_id: anyText, name: "echo", arguments: '{"input":"a"}' },
    ]);
    expect(dataOf(lastOf(objects), `${type}_output`)).toHaveLength(1);
  }
});

test("an output is unknown if the server ended during a call that may have done something", async () => {
  const gates = new Gates();
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: z.object({}),
    async run() {
      gates.get("begun").resolve();
      await gates.get("never").promise;
      return "";
    },
  });
  const clerk = defineAgent({
    name: "clerk",
    purpose: "Pays.",
    tools: [pay],
    chat: (_input, turn) => turn.tool(pay, {}).catch(() => "I cannot say whether it was paid."),
  });
  await using server = await TestServer.start([clerk], { durable: true });
  const task = server.post("/agentscope/process/task", say("go", { ...SESSION, id: "r" }));
  await gates.get("begun").promise;
  await (await task).json();
  await server.restart();
  const objects = await (await server.openUrl("/agentscope/process/sessions/s/stream?user_id=u")).all();
  checkResponse(objects);
  expect(messagesOf(objects).find(({ status }) => status === "unknown")).toMatchObject({
    type: "plugin_call_output",
    code: "TOOL_OUTCOME_UNKNOWN",
  });
  expect(textsOf(lastOf(objects))).toEqual(["I cannot say whether it was paid."]);
});

test("a tool of the client is function_call, and function_call_output continues the same request", async () => {
  await using server = await TestServer.start([assistant]);
  const tools = [lamp, { type: "function", function: { name: "clock" } }];
  const body = say('call lamp with {"on":true} and call clock', { ...SESSION, tools });
  const asked = lastOf(await (await server.open(body)).all());
  const calls = dataOf(asked, "function_call");
  expect(calls).toEqual([
    { call_id: anyText, name: "lamp", arguments: '{"on":true}' },
    { call_id: anyText, name: "clock", arguments: "{}" },
  ]);
  const [first, second] = calls.map(({ call_id }) => call_id);

  // A text is no result, and a result that is missing is asked for again.
  expect((await server.post("/agentscope/process", say("on", SESSION))).status).toBe(409);
  const half = await (await server.open(results({ call_id: first, output: "is on" }))).all();
  checkResponse(half);
  expect(dataOf(lastOf(half), "function_call")).toEqual(calls.slice(1));
  const both = results({ call_id: first, output: "is on" }, { call_id: second, output: "noon" });
  const done = lastOf(await (await server.open(both)).all());
  expect(textsOf(done)).toEqual(["lamp: is on\nclock: noon"]);
  expect(done.id).toMatch(new RegExp(`^${asked.id}_`));

  const late = await server.post("/agentscope/process", results({ call_id: first, output: "is off" }));
  expect(late.status).toBe(409);
  const { runs } = await server.runtime.runs({ limit: 10 });
  expect(runs.map(({ turns }) => turns)).toEqual([1]);
});

test("an agent that takes no tools of its clients reads them as metadata", async () => {
  await using server = await TestServer.start([mirror]);
  const said = textsOf(lastOf(await (await server.open(say("a", { tools: [lamp] }))).all()));
  expect(JSON.parse(said.join(""))).toMatchObject({ metadata: { tools: [lamp] } });
  const unknown = results({ call_id: "7", output: "" });
  expect((await server.post("/agentscope/process", unknown)).status).toBe(404);
  expect((await server.post("/agentscope/process", results({ output: "" }))).status).toBe(422);
  expect((await server.post("/agentscope/process", approve({ approve: true }, SESSION))).status).toBe(422);
});
