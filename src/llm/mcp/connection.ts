import type * as mcp from "@modelcontextprotocol/client";
import { AgentError, messageOf } from "../../errors.ts";
import type { ReadinessPart } from "../../ports/readiness.ts";
import { SingleFlight } from "../../shared/single-flight.ts";
import type { McpServer } from "./server.ts";
import { isLost, loadPackage, toTransport } from "./transport.ts";

/** A connection to an MCP server, opened when needed and reopened after a failure. */
export class McpConnection {
  readonly #server: McpServer;
  readonly #connectMs: number;
  #client: Promise<mcp.Client> | undefined;
  /** The number of running calls per client. */
  readonly #asking = new Map<mcp.Client, number>();
  #closed = false;
  /** The server's own name for itself. */
  #name = "";
  /** Whether the server did not answer when it was asked last, or its program has ended since. */
  #isAway = false;
  /** When that was found out. */
  #knownAt = -Infinity;
  readonly #looking = new SingleFlight(() => this.#look());

  /** `connectMs` is how long the server may take until it has introduced itself. */
  constructor(server: McpServer, connectMs: number) {
    this.#server = server;
    this.#connectMs = connectMs;
  }

  /**
   * Makes a call. A server on the network that was restarted does not know the session; it has done nothing
   * then, so the call is repeated once on a new connection.
   */
  async ask<Answer>(question: (client: mcp.Client) => Promise<Answer>): Promise<Answer> {
    for (let again = false; ; again = true) {
      const connecting = this.#connected();
      const client = await connecting;
      this.#asking.set(client, (this.#asking.get(client) ?? 0) + 1);
      try {
        const answer = await question(client);
        this.#learn(false);
        return answer;
      } catch (thrown) {
        if (isAbsence(thrown)) this.#learn(true);
        if (again || !isUnknownThere(client, thrown)) throw thrown;
        this.#forget(connecting);
      } finally {
        this.#leave(client, connecting);
      }
    }
  }

  /** Whether the server is there, as far as is known. What is known for long is found out again in the background. */
  get readiness(): ReadinessPart {
    const ageMs = performance.now() - this.#knownAt;
    if (!this.#closed && ageMs > (this.#isAway ? AWAY_MS : THERE_MS)) void this.#looking.run();
    if (!this.#isAway) return { name: "mcp", state: "ready" };
    return { name: "mcp", state: "degraded", detail: `the MCP server ${this.#name} does not answer` };
  }

  /** Closes the connection, and ends the program, permanently. */
  async close(): Promise<void> {
    this.#closed = true;
    const client = await this.#client?.catch(() => undefined);
    await client?.close();
  }

  /** The connected client; concurrent callers share one connection attempt. */
  #connected(): Promise<mcp.Client> {
    if (this.#closed) return Promise.reject(new Error("the connection to the MCP server was closed"));
    if (this.#client === undefined) {
      const connecting = connect(this.#server, this.#connectMs, () => {
        // A connection that was replaced says nothing of the newer one.
        if (this.#client === connecting) this.#learn(true);
        this.#forget(connecting);
      });
      this.#client = connecting;
      connecting.then(
        (client) => {
          this.#name = client.getServerVersion()?.name.slice(0, NAME_LENGTH) ?? "";
        },
        () => {
          this.#learn(true);
          this.#forget(connecting);
        },
      );
    }
    return this.#client;
  }

  #learn(isAway: boolean): void {
    this.#isAway = isAway;
    this.#knownAt = performance.now();
  }

  async #look(): Promise<void> {
    try {
      await this.ask((client) => client.listTools({}, { timeout: LOOK_MS, cacheMode: "refresh" }));
    } catch {
      this.#learn(true);
    }
  }

  #forget(client: Promise<mcp.Client>): void {
    if (this.#client === client) this.#client = undefined;
  }

  /** Closes a replaced client when its last call has ended. */
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

/** How long an answer counts as a sign that the server is there. */
const THERE_MS = 30_000;

/** The time between two attempts to reach a server that is away. */
const AWAY_MS = 5_000;

/** How long the server may take to answer such an attempt. */
const LOOK_MS = 5_000;

const NAME_LENGTH = 64;

async function connect(server: McpServer, connectMs: number, closed: () => void): Promise<mcp.Client> {
  const { Client } = await loadPackage();
  const client = new Client({ name: "troupe", version: "1" }, "url" in server ? NEGOTIATE : {});
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it has this callback only
  client.onclose = closed;
  const transport = await toTransport(server);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new AgentError("unavailable", `${serverName(server)} did not answer within ${connectMs} ms`));
  }, connectMs);
  try {
    await Promise.race([client.connect(transport), late]);
    return client;
  } catch (thrown) {
    // Ends a program that hangs.
    transport.close().catch(() => {});
    throw thrown;
  } finally {
    clearTimeout(timer);
  }
}

/** The error for a server whose tools cannot be read; a server in the wrong place is an error of the operator. */
export function toStartError(server: McpServer, thrown: unknown): AgentError {
  if (thrown instanceof AgentError) return thrown;
  const why = messageOf(thrown) || "it gives no reason";
  return new AgentError("unavailable", `the tools of ${serverName(server)} cannot be read: ${why}`, {
    cause: thrown,
  });
}

/** A server for messages. An address can have secrets in its query and before its host. */
function serverName(server: McpServer): string {
  if (!("url" in server)) return `MCP server ${server.command}`;
  return URL.canParse(server.url) ? `MCP server ${new URL(server.url).host}` : "the MCP server";
}

/**
 * Asking a program for its version would start it twice; programs that speak only the newest version do not
 * exist yet.
 */
const NEGOTIATE = { versionNegotiation: { mode: "auto" } } as const;

/** Whether the server refused a request because it does not know the session. */
function isUnknownThere({ transport }: mcp.Client, thrown: unknown): boolean {
  const { status } = (thrown ?? {}) as { readonly status?: unknown };
  // The standard says 404; many servers use 400.
  return transport?.sessionId !== undefined && (status === 404 || status === 400);
}

/** Whether a call failed because the server is not there: it disappeared, or no connection was possible. */
function isAbsence(thrown: unknown): boolean {
  return isLost(thrown) || thrown instanceof TypeError || thrown instanceof AgentError;
}
