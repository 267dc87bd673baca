import { createMcpHandler } from "@modelcontextprotocol/server";
import type { AuthInfo, McpHttpHandler } from "@modelcontextprotocol/server";
import type { AgentError } from "../../errors.ts";
import type { Adapter } from "../../http/adapter.ts";
import { readJson } from "../../http/messages/body.ts";
import { replyFrom } from "../../http/messages/foreign-handler.ts";
import type { Refusal } from "../../http/messages/refusal.ts";
import { createServer } from "./server.ts";
import type { McpService } from "./service.ts";

const NAME = "mcp";
const BASE = `/${NAME}`;

/**
 * Serves agents as tools over the Model Context Protocol: all of them at `/mcp`, one at `/mcp/NAME`. It speaks the revision of
 * 2026-07-28 and those of 2025 without sessions.
 */
export function mcp(): Adapter {
  let handler: McpHttpHandler | undefined;
  return {
    name: NAME,
    roots: [NAME],
    owns: (path) => path === BASE || path.startsWith(`${BASE}/`),
    headers: HEADERS,
    toRefusal,
    addRoutes(app, shared, { agent }) {
      const { fetch } = (handler ??= createMcpHandler(({ authInfo }) => createServer(serviceOf(authInfo)), {
        // An agent can take longer than clients wait for the headers of an answer.
        responseMode: "sse",
        // Ours is in front.
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      }));
      app.post(agent === undefined ? BASE : `${BASE}/${agent}`, async (c) => {
        const { bodyLimitBytes } = shared;
        // The package would copy the stream and read it twice.
        const parsedBody = await readJson(c, bodyLimitBytes);
        const service: McpService = { c, host: shared.as(c), agent, address: shared.mount.addressOf(c, "") };
        const authInfo: AuthInfo = { token: "", clientId: "", scopes: [], extra: { service } };
        return replyFrom(c, bodyLimitBytes, (request) => fetch(request, { authInfo, parsedBody }));
      });
    },
  };
}

/** What the package passes through to its handlers. */
function serviceOf(authInfo: AuthInfo | undefined): McpService {
  return authInfo?.extra?.["service"] as McpService;
}

/** The headers of the protocol that clients in browsers send and read. */
const HEADERS = {
  request: ["mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name"],
  response: ["Mcp-Session-Id"],
};

/** An error in the words of JSON-RPC. */
function toRefusal({ code, message, details: { hint, issues } }: AgentError): Refusal {
  const data = { code, ...(hint !== undefined && { hint }), ...(issues !== undefined && { errors: issues }) };
  const number = code === "invalid_request" ? UNREADABLE : REFUSED;
  return { body: JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: number, message, data } }) };
}

/** The code of a body that is not JSON. */
const UNREADABLE = -32_700;

/** The code of errors that a server defines itself. */
const REFUSED = -32_000;
