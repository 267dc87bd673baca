import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { CallToolResult, ElicitResult, Tool } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { onTestFinished } from "vitest";

/** What the tests do with a client of any revision of the protocol. */
export interface McpClient {
  readonly revision: string;
  list(): Promise<readonly Tool[]>;
  call(name: string, args: object, options?: CallOptions): Promise<CallToolResult>;
  resources(): Promise<readonly { readonly uri: string; readonly title?: string | undefined }[]>;
  read(uri: string): Promise<{
    readonly text?: string | undefined;
    readonly blob?: string | undefined;
    readonly mimeType?: string | undefined;
  }>;
  close(): Promise<void>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly requestId?: string;
  onprogress?(progress: { readonly progress: number; readonly message?: string | undefined }): void;
}

/** How a client is made. */
export interface ClientOptions {
  readonly path?: string;
  readonly token?: string;
  /** Answers forms; without it the client has none. */
  readonly elicit?: (form: Form) => ElicitResult | Promise<ElicitResult>;
  /** Whether the client only returns what is asked. */
  readonly manual?: boolean;
}

export interface Form {
  readonly message: string;
  readonly requestedSchema: {
    readonly properties: Readonly<Record<string, object>>;
    readonly required?: readonly string[];
  };
}

export type Connect = (url: string, options?: ClientOptions) => Promise<McpClient>;

function initOf({ token }: ClientOptions): { readonly requestInit: RequestInit } {
  return { requestInit: token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } } };
}

/** The client of the package of today, which speaks the revision of 2026-07-28. */
export async function connectNew(
  url: string,
  options: ClientOptions = {},
): Promise<McpClient & { readonly client: Client }> {
  const { path = "/mcp", elicit } = options;
  const client = new Client(
    { name: "new", version: "1" },
    {
      versionNegotiation: { mode: "auto" },
      ...(elicit && { capabilities: { elicitation: {} } }),
    },
  );
  if (elicit)
    client.setRequestHandler("elicitation/create", ({ params }) => elicit(params as unknown as Form));
  await client.connect(new StreamableHTTPClientTransport(new URL(url + path), initOf(options)));
  onTestFinished(() => client.close());
  return {
    client,
    revision: "2026-07-28",
    list: async () => (await client.listTools()).tools,
    call: (name, args, { requestId, ...more } = {}) =>
      client.callTool(
        {
          name,
          arguments: { ...args },
          ...(requestId !== undefined && { _meta: { request_id: requestId } }),
        },
        more,
      ),
    resources: async () => (await client.listResources()).resources,
    read: async (uri) => (await client.readResource({ uri })).contents[0] ?? {},
    close: () => client.close(),
  };
}

/** The client of the package before, which speaks the revisions of 2025. */
export async function connectOld(url: string, options: ClientOptions = {}): Promise<McpClient> {
  const { path = "/mcp" } = options;
  const client = new OldClient({ name: "old", version: "1" });
  await client.connect(new OldTransport(new URL(url + path), initOf(options)));
  onTestFinished(() => client.close());
  return {
    revision: "2025-11-25",
    list: async () => (await client.listTools()).tools as unknown as readonly Tool[],
    call: async (name, args, { requestId, ...more } = {}) =>
      (await client.callTool(
        {
          name,
          arguments: { ...args },
          ...(requestId !== undefined && { _meta: { request_id: requestId } }),
        },
        undefined,
        more,
      )) as unknown as CallToolResult,
    resources: async () => (await client.listResources()).resources,
    read: async (uri) => (await client.readResource({ uri })).contents[0] ?? {},
    close: () => client.close(),
  };
}

/** The texts of a result. */
export function textOf({ content }: CallToolResult): string {
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** The ids of the run and the request of a result. */
export function idsOf(result: CallToolResult): { readonly run_id: string; readonly request_id: string } {
  const { _meta: meta } = result;
  return meta as unknown as { readonly run_id: string; readonly request_id: string };
}
