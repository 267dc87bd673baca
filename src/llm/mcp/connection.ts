import type * as mcp from "@modelcontextprotocol/client";
import type { McpServer } from "./server.ts";
import { loadPackage, toTransport } from "./transport.ts";

/** A connection to a server that is made when it is needed, and again after it broke. */
export class McpConnection {
  readonly #server: McpServer;
  #client: Promise<mcp.Client> | undefined;
  /** How many questions each client has open. */
  readonly #asking = new Map<mcp.Client, number>();
  #closed = false;

  constructor(server: McpServer) {
    this.#server = server;
  }

  /**
   * Asks the server something. A server on the network that has started again does not know who was connected
   * before, and has then done nothing, so that it is asked once more on a new connection.
   */
  async ask<Answer>(question: (client: mcp.Client) => Promise<Answer>): Promise<Answer> {
    for (let again = false; ; again = true) {
      const connecting = this.#connected();
      const client = await connecting;
      this.#asking.set(client, (this.#asking.get(client) ?? 0) + 1);
      try {
        return await question(client);
      } catch (thrown) {
        if (again || !isUnknownThere(client, thrown)) throw thrown;
        this.#forget(connecting);
      } finally {
        this.#leave(client, connecting);
      }
    }
  }

  /** Ends the connection, and with it the program, for good. */
  async close(): Promise<void> {
    this.#closed = true;
    const client = await this.#client?.catch(() => undefined);
    await client?.close();
  }

  /** The connected client; everyone who asks while it is being connected gets the same one. */
  #connected(): Promise<mcp.Client> {
    if (this.#closed) return Promise.reject(new Error("the connection to the MCP server was closed"));
    if (this.#client === undefined) {
      const connecting = connect(this.#server, () => this.#forget(connecting));
      this.#client = connecting;
      connecting.catch(() => this.#forget(connecting));
    }
    return this.#client;
  }

  #forget(client: Promise<mcp.Client>): void {
    if (this.#client === client) this.#client = undefined;
  }

  /** Closes a client that is not needed any more once the last one who asked has an answer. */
  #leave(client: mcp.Client, connecting: Promise<mcp.Client>): void {
    const others = (this.#asking.get(client) ?? 1) - 1;
    if (others > 0) {
      this.#asking.set(client, others);
      return;
    }
    this.#asking.delete(client);
    if (connecting !== this.#client) client.close().catch(() => {});
  }
}

async function connect(server: McpServer, closed: () => void): Promise<mcp.Client> {
  const { Client } = await loadPackage();
  const client = new Client({ name: "troupe", version: "1" }, "url" in server ? NEGOTIATE : {});
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it has this callback only
  client.onclose = closed;
  await client.connect(await toTransport(server));
  return client;
}

/** To ask a program for its version would start it twice; one that speaks only the newest is not known here. */
const NEGOTIATE = { versionNegotiation: { mode: "auto" } } as const;

/** Whether a server has refused a request because it does not know the session that the request belongs to. */
function isUnknownThere({ transport }: mcp.Client, thrown: unknown): boolean {
  const { status } = (thrown ?? {}) as { readonly status?: unknown };
  // The standard says 404; many servers say 400.
  return transport?.sessionId !== undefined && (status === 404 || status === 400);
}
