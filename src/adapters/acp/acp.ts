import type { AgentConnection, Stream } from "@agentclientprotocol/sdk";
import { AgentError, fieldOf } from "../../errors.ts";

/** The agent that an editor gets, and where it is. */
export interface AcpOptions {
  /** The address of the server. */
  readonly url: string;
  /** The bearer token of the server. */
  readonly token?: string;
  /** The name of the agent. Default: the default agent of the server. */
  readonly agent?: string;
  /** The directory of sessions that do not say theirs. */
  readonly cwd: string;
  /** Whether the agent gets the MCP servers that the editor names, as `mcp_servers` in its metadata. They may contain keys. */
  readonly mcpServers?: boolean;
  /** Default: that of the process. */
  readonly fetch?: typeof fetch;
}

/** Streams of bytes, mostly standard output and standard input. */
export interface AcpStreams {
  readonly output: WritableStream<Uint8Array>;
  readonly input: ReadableStream<Uint8Array>;
}

/**
 * Serves an agent of a server to an editor over the Agent Client Protocol. Needs the package `@agentclientprotocol/sdk`. The
 * connection ends with the input; what the agent does goes on.
 */
export async function serveAcp(options: AcpOptions, { output, input }: AcpStreams): Promise<AgentConnection> {
  const { sdk, connectEditor } = await load();
  const stream: Stream = sdk.ndJsonStream(output, input);
  return connectEditor(options, stream);
}

async function load() {
  try {
    const sdk = await import("@agentclientprotocol/sdk");
    return { sdk, ...(await import("./agent.ts")) };
  } catch (thrown) {
    if (fieldOf(thrown, "code") !== "ERR_MODULE_NOT_FOUND") throw thrown;
    throw new AgentError(
      "unavailable",
      "the Agent Client Protocol needs the package @agentclientprotocol/sdk",
      {
        hint: "npm install @agentclientprotocol/sdk",
      },
    );
  }
}
