import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { createRuntime, defineAgent } from "troupe";
import type { Runtime, Tool } from "troupe";
import { llmAgent, mcpTools, scriptedModel } from "troupe/llm";
import type { McpTools } from "troupe/llm";
import type { Event } from "troupe/protocol";
import { collect } from "troupe/testing";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { ofType, theOne } from "../agents/events.ts";

const require = createRequire(import.meta.url);
const EVERYTHING = require.resolve("@modelcontextprotocol/server-everything/dist/index.js");

/** A runtime with an agent that calls the tool whose name and input it gets as JSON. */
function callerOf(tools: readonly Tool[]): Runtime {
  const caller = defineAgent({
    name: "caller",
    purpose: "Calls a tool.",
    tools,
    async chat(text, turn) {
      const [name, input] = JSON.parse(text) as [string, unknown];
      const tool = tools.find((tool) => tool.name === name);
      if (tool === undefined) throw new Error(`there is no tool ${name}`);
      await turn.text(JSON.stringify(await turn.tool(tool, input)));
    },
  });
  return createRuntime({ agents: [caller] });
}

function call(runtime: Runtime, ...call: [name: string, input: object]): Promise<readonly Event[]> {
  return collect(runtime, "caller", { type: "ChatRequest", input: JSON.stringify(call) });
}

describe("the tools of a program", () => {
  let folder: string;
  let server: McpTools;
  let runtime: Runtime;

  async function pid(): Promise<number> {
    return Number(await readFile(join(folder, "pid"), "utf8"));
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "troupe-mcp-"));
    server = await mcpTools({
      command: "sh",
      args: ["-c", 'echo $$ > pid && exec "$NODE" "$SERVER" 2> /dev/null'],
      env: { NODE: process.execPath, SERVER: EVERYTHING },
      cwd: folder,
    });
    runtime = callerOf(server.tools);
  });

  afterAll(async () => {
    await runtime.close();
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  test("work like any other tools, for agents and for models", async () => {
    expect(server.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["echo", "get_sum"]));
    const model = scriptedModel([
      { toolCalls: [{ name: "get_sum", input: { a: 2, b: 3 } }] },
      "There you are.",
    ]);
    const agent = llmAgent({ name: "clerk", purpose: "Adds.", instructions: "", model, tools: server.tools });
    const own = createRuntime({ agents: [agent] });
    const events = await collect(own, "clerk", { type: "ChatRequest", input: "2 and 3" });
    expect(theOne(events, "ToolCall")).toMatchObject({ function_name: "get_sum", args: { a: 2, b: 3 } });
    expect(theOne(events, "ToolResult").text_result).toBe("The sum of 2 and 3 is 5.");
    expect(events.at(-1)).toMatchObject({ result: "There you are." });
    await own.close();
  });

  test("accept only input that fits their schemas", async () => {
    const events = await call(runtime, "get_sum", { a: 2, b: "three" });
    expect(theOne(events, "ToolError")).toMatchObject({ code: "invalid_input" });
    expect(theOne(events, "ToolError").content).toMatch(/^the input of get_sum does not fit: .*b/);
  });

  test("report progress, fail when the program dies, and work again with the next call", async () => {
    const first = await pid();
    const { requestId } = await runtime.process("caller", {
      type: "ChatRequest",
      input: JSON.stringify(["trigger_long_running_operation", { duration: 600, steps: 60_000 }]),
    });
    const feed = await runtime.follow(await runtime.resolve(requestId), { after: 0 });
    const events: Event[] = [];
    for await (const page of feed.pages) {
      events.push(...page.events.map((text) => JSON.parse(text) as Event));
      if (ofType(events, "ToolError").length === 0 && ofType(events, "ToolTextOutput").length > 0)
        kill(first);
    }
    expect(ofType(events, "ToolTextOutput")[0]).toMatchObject({ content: "1 of 60000", progress: true });
    expect(theOne(events, "ToolError").content).toBe(
      "the MCP server ended during a call of trigger-long-running-operation",
    );

    const again = await call(runtime, "echo", { message: "hello" });
    expect(theOne(again, "ToolResult").text_result).toBe("Echo: hello");
    expect(await pid()).not.toBe(first);
  });

  test("end with their program when the connection is closed", async () => {
    const own = await mcpTools({
      command: "sh",
      args: ["-c", 'echo $$ > own && exec "$NODE" "$SERVER" 2> /dev/null'],
      env: { NODE: process.execPath, SERVER: EVERYTHING },
      cwd: folder,
    });
    const program = Number(await readFile(join(folder, "own"), "utf8"));
    expect(kill(program, 0)).toBe(true);
    await own.close();
    expect(kill(program, 0)).toBe(false);

    const closed = callerOf(own.tools);
    const events = await call(closed, "echo", { message: "hello" });
    expect(theOne(events, "ToolError").content).toBe("the connection to the MCP server was closed");
    await closed.close();
  });

  test("are not available from a program that does not start", async () => {
    await expect(mcpTools({ command: join(folder, "nothing") })).rejects.toThrow("ENOENT");
  });

  test("are not waited for when their program hangs, which is ended", async () => {
    const folder = await mkdtemp(join(tmpdir(), "troupe-mcp-"));
    const file = join(folder, "pid");
    const hang = `require("fs").writeFileSync(${JSON.stringify(file)}, String(process.pid)); setInterval(() => {}, 1000)`;
    const server = { command: process.execPath, args: ["--eval", hang] };
    await expect(mcpTools(server, { connectMs: 2_000 })).rejects.toMatchObject({
      code: "unavailable",
      message: `MCP server ${process.execPath} did not answer within 2000 ms`,
    });
    const pid = Number(await readFile(file, "utf8"));
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), { timeout: 20_000 });
    await rm(folder, { recursive: true });
  });
});

/** Sends a signal. Returns whether the process existed. */
function kill(pid: number, signal: NodeJS.Signals | 0 = "SIGKILL"): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

describe("the tools of a server on the network", () => {
  const started = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const tokens = new Set<string | null>();
  let close: () => void;
  let server: McpTools;
  let runtime: Runtime;

  beforeAll(async () => {
    const handler = createMcpHandler(newServer);
    const http = serve({
      fetch(request) {
        tokens.add(request.headers.get("authorization"));
        return handler.fetch(request);
      },
      hostname: "127.0.0.1",
      port: 0,
      overrideGlobalObjects: false,
    });
    await once(http, "listening");
    close = () => http.close();
    const { port } = http.address() as AddressInfo;
    const headers = { authorization: "Bearer secret" };
    server = await mcpTools({ url: `http://127.0.0.1:${port}/mcp`, headers });
    runtime = callerOf(server.tools);
  });

  afterAll(async () => {
    await runtime.close();
    await server.close();
    close();
  });

  function newServer(): McpServer {
    const mcp = new McpServer({ name: "weather", version: "1" });
    mcp.registerTool(
      "weather.now",
      {
        description: "Says how warm it is.",
        inputSchema: z.object({ city: z.string() }),
        outputSchema: z.object({ degrees: z.number() }),
      },
      ({ city }) => {
        if (city === "Atlantis") throw new Error("there is no such city");
        return { content: [{ type: "text", text: "cold" }], structuredContent: { degrees: city.length } };
      },
    );
    mcp.registerTool(
      "hang",
      { description: "Does not end.", inputSchema: z.object({}) },
      async (_input, ctx) => {
        started.resolve();
        await once(ctx.mcpReq.signal, "abort");
        stopped.resolve();
        return { content: [] };
      },
    );
    return mcp;
  }

  test("return values where the server does", async () => {
    const events = await call(runtime, "weather_now", { city: "Oslo" });
    expect(theOne(events, "ToolResult").result).toEqual({ degrees: 4 });
    expect([...tokens]).toEqual(["Bearer secret"]);
  });

  test("fail with the server's message", async () => {
    const events = await call(runtime, "weather_now", { city: "Atlantis" });
    expect(theOne(events, "ToolError")).toMatchObject({
      code: "tool_error",
      content: "there is no such city",
    });
  });

  test("stop when the turn is canceled", async () => {
    const { requestId } = await runtime.process("caller", { type: "ChatRequest", input: '["hang",{}]' });
    await started.promise;
    await runtime.process("caller", { type: "CancelRequest", request_id: requestId });
    await stopped.promise;
    expect(await runtime.status(requestId)).toMatchObject({ status: "completed", finish_reason: "canceled" });
  });
});

describe("the tools of a server on the network that goes away", () => {
  test(
    "are a degraded part of the server while it is away, and ready when it is back without a call",
    { timeout: 60_000 },
    async () => {
      await using program = await HttpProgram.start();
      const server = await mcpTools({ url: program.url });
      const runtime = callerOf(server.tools);
      const mcp = () => runtime.readiness.parts().filter(({ name }) => name === "mcp");
      // All tools of a server are one part.
      expect(mcp()).toEqual([{ name: "mcp", state: "ready" }]);
      await program.stop();
      await call(runtime, "echo", { message: "two" });
      const detail: unknown = expect.stringMatching(/^the MCP server \S*everything does not answer$/);
      expect(mcp()).toEqual([{ name: "mcp", state: "degraded", detail }]);
      await program.restart();
      await expect.poll(mcp).toEqual([{ name: "mcp", state: "ready" }]);
      await runtime.close();
      await server.close();
    },
  );

  test("fail while it is away, and work again when it is back with no memory of the session", async () => {
    await using program = await HttpProgram.start();
    const server = await mcpTools({ url: program.url });
    const runtime = callerOf(server.tools);
    expect(theOne(await call(runtime, "echo", { message: "one" }), "ToolResult").text_result).toBe(
      "Echo: one",
    );

    await program.stop();
    expect(theOne(await call(runtime, "echo", { message: "two" }), "ToolError").content).toBe(
      "the MCP server cannot be reached",
    );

    await program.restart();
    const answers = await Promise.all(["three", "four"].map((message) => call(runtime, "echo", { message })));
    expect(answers.map((events) => theOne(events, "ToolResult").text_result)).toEqual([
      "Echo: three",
      "Echo: four",
    ]);
    await runtime.close();
    await server.close();
  });

  test("fail as soon as the connection for the answer breaks", async () => {
    const sockets: Socket[] = [];
    const handler = createMcpHandler(() => {
      const mcp = new McpServer({ name: "slow", version: "1" });
      mcp.registerTool(
        "slow",
        { description: "Begins, and is gone.", inputSchema: z.object({}) },
        async (_input, ctx) => {
          // oxlint-disable-next-line no-underscore-dangle -- the protocol calls it so
          const progressToken = ctx.mcpReq._meta?.progressToken ?? "";
          await ctx.mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken, progress: 1, message: "begun" },
          });
          await once(ctx.mcpReq.signal, "abort");
          return { content: [] };
        },
      );
      return mcp;
    });
    const http = serve({
      fetch: (request) => handler.fetch(request),
      hostname: "127.0.0.1",
      port: 0,
      overrideGlobalObjects: false,
    });
    http.on("connection", (socket: Socket) => sockets.push(socket));
    await once(http, "listening");
    const server = await mcpTools({ url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` });
    const runtime = callerOf(server.tools);
    const { requestId } = await runtime.process("caller", { type: "ChatRequest", input: '["slow",{}]' });
    const feed = await runtime.follow(await runtime.resolve(requestId), { after: 0 });
    const events: Event[] = [];
    for await (const page of feed.pages) {
      events.push(...page.events.map((text) => JSON.parse(text) as Event));
      if (ofType(events, "ToolTextOutput").length > 0) for (const socket of sockets) socket.destroy();
    }
    expect(theOne(events, "ToolError").content).toBe("the MCP server ended during a call of slow");
    await runtime.close();
    await server.close();
    http.close();
  });
});

/** A real MCP server on a port, which it keeps after a restart. */
class HttpProgram implements AsyncDisposable {
  readonly url: string;
  readonly #port: number;
  #child: ChildProcess | undefined;

  private constructor(port: number) {
    this.#port = port;
    this.url = `http://127.0.0.1:${port}/mcp`;
  }

  static async start(): Promise<HttpProgram> {
    const probe = createServer().listen(0, "127.0.0.1");
    await once(probe, "listening");
    const { port } = probe.address() as AddressInfo;
    probe.close();
    const program = new HttpProgram(port);
    await program.restart();
    return program;
  }

  async restart(): Promise<void> {
    const child = spawn(process.execPath, [EVERYTHING, "streamableHttp"], {
      env: { ...process.env, PORT: String(this.#port) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child = child;
    for await (const said of child.stderr as AsyncIterable<Buffer>) if (/listening/.test(String(said))) break;
  }

  async stop(): Promise<void> {
    if (this.#child?.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
