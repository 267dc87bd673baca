import type * as mcp from "@modelcontextprotocol/client";
import type { McpServer } from "./mcp-server.ts";

/** A connection to a server that is made when it is needed, and again after it broke. */
export class McpConnection {
  readonly #server: McpServer;
  #client: Promise<mcp.Client> | undefined;
  #closed = false;

  constructor(server: McpServer) {
    this.#server = server;
  }

  /** The connected client; everyone who asks while it is being connected gets the same one. */
  client(): Promise<mcp.Client> {
    if (this.#closed) return Promise.reject(new Error("the connection to the MCP server was closed"));
    const forget = (client: Promise<mcp.Client>): void => {
      if (this.#client === client) this.#client = undefined;
    };
    if (this.#client === undefined) {
      const connecting = connect(this.#server, () => forget(connecting));
      this.#client = connecting;
      connecting.catch(() => forget(connecting));
    }
    return this.#client;
  }

  /** Ends the connection, and with it the program, for good. */
  async close(): Promise<void> {
    this.#closed = true;
    const client = await this.#client?.catch(() => undefined);
    await client?.close();
  }
}

async function connect(server: McpServer, closed: () => void): Promise<mcp.Client> {
  const { Client } = await load();
  const client = new Client({ name: "troupe", version: "1" }, "url" in server ? NEGOTIATE : {});
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it has this callback only
  client.onclose = closed;
  await client.connect(await toTransport(server));
  return client;
}

/** To ask a program for its version would start it twice; one that speaks only the newest is not known here. */
const NEGOTIATE = { versionNegotiation: { mode: "auto" } } as const;

async function toTransport(server: McpServer): Promise<mcp.Transport> {
  if ("url" in server) {
    const { StreamableHTTPClientTransport } = await load();
    return new StreamableHTTPClientTransport(new URL(server.url), {
      ...(server.headers && { requestInit: { headers: server.headers } }),
    });
  }
  const { StdioClientTransport, getDefaultEnvironment } = await import("@modelcontextprotocol/client/stdio");
  const { command, args = [], env = {}, cwd } = server;
  return new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    ...(cwd !== undefined && { cwd }),
  });
}

async function load(): Promise<typeof mcp> {
  try {
    return await import("@modelcontextprotocol/client");
  } catch (cause) {
    throw new Error("MCP tools need: npm install @modelcontextprotocol/client", { cause });
  }
}
