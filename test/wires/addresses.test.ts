import { createRuntime, defineAgent } from "troupe";
import { serve } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import { openWires, WIRES } from "../../src/cli/serve/wires.ts";

const scribe = defineAgent({
  name: "scribe",
  purpose: "Writes a file.",
  async chat(input, turn) {
    await turn.artifact({ name: "note.txt", mimeType: "text/plain", data: input });
  },
});

const say = { role: "user", content: "to be" };

/** A request over each wire that shows the files of an answer. */
const ASKS: Readonly<
  Record<string, readonly [path: string, body: object, headers?: Readonly<Record<string, string>>]>
> = {
  ui: [
    "/ui/scribe",
    { id: "chat", messages: [{ id: "1", role: "user", parts: [{ type: "text", text: "to be" }] }] },
  ],
  "ag-ui": ["/ag-ui/scribe", { threadId: "thread", runId: "run", messages: [{ id: "1", ...say }] }],
  mcp: [
    "/mcp/scribe",
    {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "scribe", arguments: { input: "to be" } },
    },
    { accept: "application/json, text/event-stream" },
  ],
  a2a: [
    "/a2a/scribe",
    {
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: { message: { messageId: "1", role: "ROLE_USER", parts: [{ text: "to be" }] } },
    },
    { "a2a-version": "1.0" },
  ],
  agentscope: [
    "/agentscope/scribe/process",
    { input: [{ role: "user", content: [{ type: "text", text: "to be" }] }] },
  ],
  "openai chat": ["/v1/chat/completions", { model: "scribe", messages: [say] }],
  "openai responses": ["/v1/responses", { model: "scribe", input: "to be" }],
};

test.each(Object.entries(ASKS))(
  "%s: a file has the address of the host that was asked, also behind a proxy",
  async (_, ask) => {
    const [path, body, more = {}] = ask;
    const runtime = createRuntime({ agents: [scribe] });
    const adapters = await openWires(WIRES);
    const server = await serve(runtime, {
      drain: false,
      adapters,
      trustProxy: true,
      allowedHosts: ["agents.example"],
    });
    onTestFinished(async () => {
      await server.close();
      await runtime.close();
    });
    const answer = async (headers: Readonly<Record<string, string>>): Promise<string> => {
      const all = { "content-type": "application/json", ...more, ...headers };
      return (
        await fetch(server.url + path, { method: "POST", headers: all, body: JSON.stringify(body) })
      ).text();
    };
    const proxy = {
      "x-forwarded-proto": "https",
      "x-forwarded-host": "agents.example",
      "x-forwarded-prefix": "/below",
    };
    expect(await answer(proxy)).toContain("https://agents.example/below/artifacts/");
    expect(await answer({})).toContain(`${server.url}/artifacts/`);
  },
);
