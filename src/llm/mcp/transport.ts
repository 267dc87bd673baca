import type * as mcp from "@modelcontextprotocol/client";
import type { McpTarget } from "./server.ts";

/** The MCP package, loaded on first use. */
export async function loadPackage(): Promise<typeof mcp> {
  try {
    return await import("@modelcontextprotocol/client");
  } catch (cause) {
    throw new Error("MCP tools need: npm install @modelcontextprotocol/client", { cause });
  }
}

/** Creates the transport to a server. */
export async function toTransport(server: McpTarget, auth?: mcp.AuthProvider): Promise<mcp.Transport> {
  if ("url" in server) return toHttpTransport(server, auth);
  const { StdioClientTransport, getDefaultEnvironment } = await import("@modelcontextprotocol/client/stdio");
  const { command, args, env, cwd } = server;
  return new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    ...(cwd !== undefined && { cwd }),
  });
}

async function toHttpTransport(
  { url, headers }: McpAddress,
  authProvider: mcp.AuthProvider | undefined,
): Promise<mcp.Transport> {
  const { StreamableHTTPClientTransport } = await loadPackage();
  const transport: mcp.Transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    ...(authProvider && { authProvider }),
  });
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (!("id" in message) || !("method" in message)) return send(message, options);
    // Without this callback, the caller would not learn that the stream broke off. After an answer it has no
    // effect.
    const onRequestStreamEnd = (): void =>
      transport.onmessage?.({ jsonrpc: "2.0", id: message.id, error: { code: LOST, message: "lost" } });
    return send(message, { onRequestStreamEnd, ...options });
  };
  return transport;
}

type McpAddress = Extract<McpTarget, { readonly url: string }>;

/** The error code for an answer that cannot arrive, because its connection is closed. */
const LOST = -32_099;

/** Whether a call failed because the server disappeared before it answered. */
export function isLost(thrown: unknown): boolean {
  const { code } = (thrown ?? {}) as { readonly code?: unknown };
  return code === "CONNECTION_CLOSED" || code === LOST;
}
