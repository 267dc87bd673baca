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
import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Runtime } from "troupe";
import { llmAgent, mcpTools, scriptedModel } from "troupe/llm";
import type { McpTools, ScriptStep } from "troupe/llm";
import type { ArtifactId, Event, RunId } from "troupe/protocol";
import { collect } from "troupe/testing";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { ofType, theOne } from "../agents/events.ts";
import { calling, saying, specifiedModel } from "./models/specified-model.ts";

const require = createRequire(import.meta.url);
const EVERYTHING = require.resolve("@modelcontextprotocol/server-everything/dist/index.js");

/** A runtime with an agent that calls the tool whose name and input it gets as JSON. */
function callerOf(server: McpTools): Runtime {
  const caller = defineAgent({
    name: "caller",
    purpose: "Calls a tool.",
    tools: [server.tool("echo")],
    async chat(text, turn) {
      const [name, input] = JSON.parse(text) as [string, unknown];
      await turn.text(JSON.stringify(await turn.tool(server.tool(name), input)));
    },
  });
  return createRuntime({ agents: [caller] });
}

/** A model that tells which tools it is offered, and those offers. */
function watchingModel(...steps: readonly (string | ScriptStep)[]) {
  const offers: (readonly string[])[] = [];
  const model = scriptedModel(({ tools, messages }) => {
    offers.push(tools.map(({ name }) => name));
    return steps[messages.filter(({ role }) => role === "assistant").length] ?? "Done.";
  });
  return { model, offers };
}

function mcpParts(runtime: Runtime) {
  return runtime.readiness.parts().filter(({ name }) => name === "mcp");
}

function call(runtime: Runtime, ...call: [name: string, input: object]): Promise<readonly Event[]> {
  return collect(runtime, "caller", { type: "ChatRequest", input: JSON.stringify(call) });
}

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** A server on a free port, until it is disposed of. */
async function serveHttp(answer: (request: Request) => Response | Promise<Response>) {
  const http = serve({ fetch: answer, hostname: "127.0.0.1", port: 0, overrideGlobalObjects: false });
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, [Symbol.asyncDispose]: async () => void http.close() };
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
    server = mcpTools({
      command: "sh",
      args: ["-c", 'echo $$ > pid && exec "$NODE" "$SERVER" 2> /dev/null'],
      env: { NODE: process.execPath, SERVER: EVERYTHING },
      cwd: folder,
    });
    runtime = callerOf(server);
  });

  afterAll(async () => {
    await runtime.close();
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  test("work like any other tools, for agents and for models", async () => {
    const { model, offers } = watchingModel(
      { toolCalls: [{ name: "get_sum", input: { a: 2, b: 3 } }] },
      "There you are.",
    );
    const agent = llmAgent({ name: "clerk", purpose: "Adds.", instructions: "", model, tools: server });
    const own = createRuntime({ agents: [agent] });
    const events = await collect(own, "clerk", { type: "ChatRequest", input: "2 and 3" });
    expect(theOne(events, "ToolCall")).toMatchObject({ function_name: "get_sum", args: { a: 2, b: 3 } });
    expect(theOne(events, "ToolResult").text_result).toBe("The sum of 2 and 3 is 5.");
    expect(events.at(-1)).toMatchObject({ result: "There you are." });
    expect(offers[0]).toEqual(expect.arrayContaining(["echo", "get_sum"]));
    expect(server.tools.map(({ name }) => name)).toEqual(offers[0]);
    expect(own.describe("clerk").tools).toEqual(offers[0]);
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

  test("end with their program when the runtime closes, and are closed for ever", async () => {
    const own = mcpTools({
      command: "sh",
      args: ["-c", 'echo $$ > own && exec "$NODE" "$SERVER" 2> /dev/null'],
      env: { NODE: process.execPath, SERVER: EVERYTHING },
      cwd: folder,
    });
    const first = callerOf(own);
    await call(first, "echo", { message: "hello" });
    await first.close();
    const program = Number(await readFile(join(folder, "own"), "utf8"));
    expect(kill(program, 0)).toBe(false);
    await own.close();

    const closed = callerOf(own);
    const events = await call(closed, "echo", { message: "hello" });
    expect(theOne(events, "ToolError").content).toBe("the connection to the MCP server was closed");
    await closed.close();
  });

  test("are known as soon as their program has more of them", async () => {
    const program = `
      import { McpServer } from "@modelcontextprotocol/server";
      import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
      import * as z from "zod";
      const server = new McpServer({ name: "growing", version: "1" });
      const add = (name, run) => server.registerTool(name, { description: "", inputSchema: z.object({}) }, run);
      add("echo", () => {
        add("grown", () => ({ content: [] }));
        return { content: [] };
      });
      await server.connect(new StdioServerTransport());
    `;
    const args = ["--input-type=module", "--eval", program];
    const own = mcpTools({ command: process.execPath, args, cwd: import.meta.dirname });
    const runtime = callerOf(own);
    await call(runtime, "echo", {});
    await expect.poll(() => own.tools.map(({ name }) => name)).toEqual(["echo", "grown"]);
    await runtime.close();
  });

  test("fail with the reason if their program does not start, which does not keep the runtime from it", async () => {
    const own = mcpTools({ command: join(folder, "nothing") }, { name: "ghost" });
    const runtime = callerOf(own);
    await runtime.ready();
    const events = await call(runtime, "echo", { message: "hello" });
    const detail = "the MCP server ghost cannot be started (ENOENT)";
    expect(theOne(events, "ToolError").content).toBe(detail);
    expect(mcpParts(runtime)).toEqual([{ name: "mcp", state: "degraded", detail }]);
    await runtime.close();
  });

  test("are missing while their program hangs, which is ended", { tags: "long" }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "troupe-mcp-"));
    const file = join(folder, "pid");
    const hang = `require("fs").writeFileSync(${JSON.stringify(file)}, String(process.pid)); setInterval(() => {}, 1000)`;
    const server = mcpTools({ command: process.execPath, args: ["--eval", hang] }, { connectMs: 2_000 });
    const { model, offers } = watchingModel("I have no tools.");
    const agent = llmAgent({ name: "clerk", purpose: "Adds.", instructions: "", model, tools: [server] });
    const runtime = createRuntime({ agents: [agent] });
    await runtime.ready();
    const events = await collect(runtime, "clerk", { type: "ChatRequest", input: "2 and 3" });
    expect(events.at(-1)).toMatchObject({ result: "I have no tools." });
    expect(offers).toEqual([[]]);
    const detail = "the MCP server has not answered within 2000 ms";
    expect(mcpParts(runtime)).toEqual([{ name: "mcp", state: "degraded", detail }]);
    expect(runtime.inspection.agent("clerk")).toMatchObject({ tools: [], away: [detail] });
    await vi.waitFor(async () => expect(await readFile(file, "utf8")).not.toBe(""), { timeout: 20_000 });
    const pid = Number(await readFile(file, "utf8"));
    await runtime.close();
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
    server = mcpTools({ url: `http://127.0.0.1:${port}/mcp`, headers });
    runtime = callerOf(server);
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

test("images and other files of a result are files of the run, which the result names", async () => {
  const handler = createMcpHandler(() => {
    const mcp = new McpServer({ name: "camera", version: "1" });
    mcp.registerTool("look", { description: "Takes pictures.", inputSchema: z.object({}) }, () => {
      return {
        content: [
          { type: "text", text: "What I see:" },
          { type: "image", data: PNG.toString("base64"), mimeType: "image/png" },
          { type: "audio", data: Buffer.from("RIFF").toString("base64"), mimeType: "audio/wav" },
          {
            type: "resource",
            resource: { uri: "file:///a/raw.bin", blob: Buffer.from("raw").toString("base64") },
          },
          { type: "resource", resource: { uri: "file:///a/log.txt", text: "12:00 a bird" } },
          { type: "resource_link", uri: "https://example.com/more", name: "more" },
        ],
      };
    });
    return mcp;
  });
  await using http = await serveHttp((request) => handler.fetch(request));
  const server = mcpTools({ url: http.url });
  const files: unknown[] = [];
  const viewer = defineAgent({
    name: "viewer",
    purpose: "Looks.",
    tools: [server.tool("look")],
    async chat(_input, turn) {
      const looked = turn.tool(server.tool("look"), {});
      files.push(await looked.files());
      return looked.text();
    },
  });
  const runtime = createRuntime({ agents: [viewer] });
  const events = await collect(runtime, "viewer", { type: "ChatRequest", input: "?" });
  const published = ofType(events, "ArtifactGenerated");
  expect(
    published.map(({ name, mime_type, size_bytes, depth }) => [name, mime_type, size_bytes, depth]),
  ).toEqual([
    ["look-2.png", "image/png", PNG.length, 1],
    ["look-3.wav", "audio/wav", 4, 1],
    ["raw.bin", "application/octet-stream", 3, 1],
  ]);
  const lines = published.map(({ name, mime_type, url }) => `${name} (${mime_type}) ${url}`);
  const result = theOne(events, "ToolResult");
  const text = ["What I see:", "12:00 a bird", "more https://example.com/more", ...lines].join("\n");
  expect(result.text_result).toBe(text);
  expect(result.files?.map(({ artifact_id }) => artifact_id)).toEqual(
    published.map(({ artifact_id }) => artifact_id),
  );
  expect(events.at(-1)).toMatchObject({ result: text });
  expect(files).toEqual([
    published.map(({ name, mime_type: mimeType, url, artifact_id: artifactId, size_bytes: sizeBytes }) => ({
      name,
      mimeType,
      url,
      artifactId,
      sizeBytes,
    })),
  ]);
  const model = specifiedModel("v3", [calling("look", {})], saying("A bird."));
  const agent = llmAgent({ name: "clerk", purpose: "", instructions: "", model, tools: [server] });
  const other = createRuntime({ agents: [agent] });
  await collect(other, "clerk", { type: "ChatRequest", input: "?" });
  expect(model.calls[1]?.prompt.slice(2)).toMatchObject([
    { role: "tool", content: [{ type: "tool-result", toolName: "look" }] },
    {
      role: "user",
      content: [
        { type: "text", text: "Files of the results: look-2.png of look" },
        { type: "file", mediaType: "image/png", data: new Uint8Array(PNG) },
      ],
    },
  ]);
  await other.close();
  const stored = await runtime.artifact(published[0]?.artifact_id as ArtifactId);
  const chunks: Uint8Array[] = [];
  for await (const chunk of stored.body) chunks.push(chunk.slice());
  expect(Buffer.concat(chunks)).toEqual(PNG);
  await runtime.close();
});

test("the headers of a server are those of the turn, and are in no event", async () => {
  const asked: (string | null)[] = [];
  const handler = createMcpHandler(() => {
    const mcp = new McpServer({ name: "notes", version: "1" });
    const inputSchema = z.object({});
    mcp.registerTool("list", { description: "", inputSchema }, () => ({ content: [] }));
    return mcp;
  });
  await using http = await serveHttp((request) => {
    asked.push(request.headers.get("authorization"));
    return handler.fetch(request);
  });
  const server = mcpTools({
    url: http.url,
    headers: (turn) => ({ authorization: `Bearer ${turn.config["notes_token"] as string}` }),
  });
  const { model, offers } = watchingModel({ toolCalls: [{ name: "list", input: {} }] }, "There you are.");
  const agent = llmAgent({ name: "clerk", purpose: "", instructions: "", model, tools: { server } });
  const log = memoryLog();
  const runtime = createRuntime({ agents: [agent], log });
  const answers: Event[] = [];
  for (const token of ["secret-of-ann", "secret-of-bob"]) {
    const run_id = await runtime.createRun("clerk", { input: null });
    await runtime.process("clerk", { type: "ConfigureRequest", run_id, args: { notes_token: token } });
    answers.push(...(await collect(runtime, "clerk", { type: "ChatRequest", input: "?", run_id })));
  }
  expect(ofType(answers, "ToolResult")).toHaveLength(2);
  expect(offers[0]).toEqual(["list"]);
  expect(new Set(asked)).toEqual(new Set(["Bearer secret-of-ann", "Bearer secret-of-bob"]));
  expect(JSON.stringify(answers)).not.toContain("secret-of");
  expect(mcpParts(runtime)).toEqual([{ name: "mcp", state: "ready" }]);
  await runtime.close();
});

describe("the tools of a server on the network that goes away", () => {
  test(
    "are a degraded part of the server while it is away, and ready when it is back without a call",
    { tags: "long", timeout: 60_000 },
    async () => {
      await using program = await HttpProgram.start();
      const server = mcpTools({ url: program.url });
      const runtime = callerOf(server);
      await call(runtime, "echo", { message: "one" });
      // All tools of a server are one part.
      expect(mcpParts(runtime)).toEqual([{ name: "mcp", state: "ready" }]);
      await program.stop();
      await call(runtime, "echo", { message: "two" });
      const detail: unknown = expect.stringMatching(/^the MCP server \S*everything cannot be reached$/);
      expect(mcpParts(runtime)).toEqual([{ name: "mcp", state: "degraded", detail }]);
      await program.restart();
      await expect.poll(() => mcpParts(runtime)).toEqual([{ name: "mcp", state: "ready" }]);
      await runtime.close();
      await server.close();
    },
  );

  test(
    "fail while it is away, and work again when it is back with no memory of the session",
    { tags: "long" },
    async () => {
      await using program = await HttpProgram.start();
      const server = mcpTools({ url: program.url });
      const runtime = callerOf(server);
      expect(theOne(await call(runtime, "echo", { message: "one" }), "ToolResult").text_result).toBe(
        "Echo: one",
      );

      await program.stop();
      expect(theOne(await call(runtime, "echo", { message: "two" }), "ToolError").content).toMatch(
        /^the MCP server \S*everything cannot be reached$/,
      );

      await program.restart();
      const answers = await Promise.all(
        ["three", "four"].map((message) => call(runtime, "echo", { message })),
      );
      expect(answers.map((events) => theOne(events, "ToolResult").text_result)).toEqual([
        "Echo: three",
        "Echo: four",
      ]);
      await runtime.close();
      await server.close();
    },
  );

  test("come when it comes, for an agent that started without it", { tags: "long" }, async () => {
    await using program = await HttpProgram.start();
    await program.stop();
    const server = mcpTools({ url: program.url }, { name: "sums" });
    const { model, offers } = watchingModel(
      "Nothing I can do.",
      { toolCalls: [{ name: "get_sum", input: { a: 2, b: 3 } }] },
      "There you are.",
    );
    const agent = llmAgent({ name: "clerk", purpose: "Adds.", instructions: "", model, tools: [server] });
    const runtime = createRuntime({ agents: [agent] });
    const first = await collect(runtime, "clerk", { type: "ChatRequest", input: "2 and 3" });
    expect(offers).toEqual([[]]);
    const detail = "the MCP server sums cannot be reached";
    expect(mcpParts(runtime)).toEqual([{ name: "mcp", state: "degraded", detail }]);
    await program.restart();
    await expect.poll(() => mcpParts(runtime)).toEqual([{ name: "mcp", state: "ready" }]);
    const run_id = first[0]?.run_id as RunId;
    const second = await collect(runtime, "clerk", { type: "ChatRequest", input: "2 and 3", run_id });
    expect(offers[1]).toContain("get_sum");
    expect(theOne(second, "ToolResult").text_result).toBe("The sum of 2 and 3 is 5.");
    await runtime.close();
  });

  test("are called again after a restart as before, also while it is away", { tags: "long" }, async () => {
    const log = memoryLog();
    await using program = await HttpProgram.start();
    const start = () => {
      const { model } = watchingModel(
        { toolCalls: [{ name: "get_sum", input: { a: 2, b: 3 } }] },
        { toolCalls: [{ name: "made_up", input: {} }] },
        { toolCalls: [{ name: "echo", input: { message: "done" } }] },
        "There you are.",
      );
      const tools = [mcpTools({ url: program.url }, { name: "sums" })];
      const agent = llmAgent({
        name: "clerk",
        purpose: "",
        instructions: "",
        model,
        tools,
        approve: ["echo"],
      });
      return createRuntime({ agents: [agent], log: log.reopen() });
    };
    const before = start();
    const { requestId } = await before.process("clerk", { type: "ChatRequest", input: "2 and 3" });
    await expect.poll(async () => (await before.status(requestId)).status).toBe("waiting");
    await before.close();
    await program.stop();

    const after = start();
    await after.process("clerk", {
      type: "ResumeWithInput",
      request_id: requestId,
      request_keys: { approved: true },
    });
    const events: Event[] = [];
    const feed = await after.follow(await after.resolve(requestId), { after: 0 });
    for await (const page of feed.pages) events.push(...page.events.map((text) => JSON.parse(text) as Event));
    expect(ofType(events, "ToolResult").map(({ text_result: text }) => text)).toEqual([
      "The sum of 2 and 3 is 5.",
    ]);
    expect(ofType(events, "ToolError").map(({ content }) => content)).toEqual([
      "MCP error -32602: Tool made_up not found",
      "the MCP server sums cannot be reached",
    ]);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "There you are." });
    await after.close();
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
    const server = mcpTools({ url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` });
    const runtime = callerOf(server);
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
