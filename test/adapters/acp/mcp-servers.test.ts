/** @module-tag long */
import { symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import * as acp from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { createProject, main } from "../../cli/command.ts";
import { Editor } from "./editor.ts";

const root = resolve(import.meta.dirname, "../../..");

const READER = `import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { defineAgent } from "troupe";

export const reader = defineAgent({
  name: "reader",
  purpose: "Uses the MCP servers of the editor.",
  chat: (input, turn) =>
    turn.effect("ask", async () => {
      const [server] = turn.metadata.mcp_servers ?? [];
      if (server === undefined) return "no server";
      const env = Object.fromEntries(server.env.map(({ name, value }) => [name, value]));
      const client = new Client({ name: "reader", version: "1" });
      await client.connect(new StdioClientTransport({ command: server.command, args: server.args, env }));
      try {
        const { content } = await client.callTool({ name: "echo", arguments: { message: input } });
        return content[0].text;
      } finally {
        await client.close();
      }
    }),
});
`;

/** A server process as editors start them: the reference server of the protocol. */
const everything: acp.McpServer = {
  name: "everything",
  command: process.execPath,
  args: [join(root, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"), "stdio"],
  env: [{ name: "PATH", value: process.env["PATH"] ?? "" }],
};

test("an agent uses the MCP servers that the editor names, with --mcp and not without", async () => {
  const cwd = await createProject({ "agents/reader.ts": READER });
  await symlink(
    join(root, "node_modules/@modelcontextprotocol"),
    join(cwd, "node_modules/@modelcontextprotocol"),
  );
  const ask = async (options: readonly string[]): Promise<string> => {
    await using editor = await Editor.of(process.execPath, [main, "acp", "reader", ...options], { cwd });
    const { sessionId } = await editor.agent.request(acp.methods.agent.session.new, {
      cwd,
      mcpServers: [everything],
    });
    expect(await editor.prompt(sessionId, "to be")).toMatchObject({ stopReason: "end_turn" });
    return editor.said();
  };
  expect(await ask(["--mcp"])).toBe("Echo: to be");
  expect(await ask([])).toBe("no server");
});
