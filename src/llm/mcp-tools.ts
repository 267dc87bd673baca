import type { Client, ContentBlock, Progress, Tool as McpTool } from "@modelcontextprotocol/client";
import type { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { Schema, Tool } from "../runtime/agent.ts";
import { defineTool } from "../runtime/define.ts";
import type { ToolTurn } from "../runtime/turn-api.ts";
import { McpConnection } from "./mcp-connection.ts";
import type { McpServer } from "./mcp-server.ts";
import { rawSchema } from "./raw-schema.ts";
import { toToolName } from "./tool-name.ts";

/** The tools of an MCP server, and the connection that they share. */
export interface McpTools {
  readonly tools: readonly Tool[];
  /** Ends the connection; a program that was started for it ends too. */
  close(): Promise<void>;
}

/**
 * Connects to an MCP server and makes its tools ours. Calls that a server breaks off by ending fail, and
 * the next call connects again. Needs the package `@modelcontextprotocol/client`, version 2.
 */
export async function mcpTools(server: McpServer): Promise<McpTools> {
  const connection = new McpConnection(server);
  try {
    const { tools } = await (await connection.client()).listTools();
    const { AjvJsonSchemaValidator } = await import("@modelcontextprotocol/client/validators/ajv");
    const validator = new AjvJsonSchemaValidator();
    return {
      tools: tools.map((tool) => toTool(tool, toSchema(tool, validator), connection)),
      close: () => connection.close(),
    };
  } catch (thrown) {
    await connection.close();
    throw thrown;
  }
}

/** A call ends when this long nothing was heard of it. */
const SILENCE_MS = 60_000;

function toTool(tool: McpTool, input: Schema<Json>, connection: McpConnection): Tool {
  const { name, description = "", annotations = {} } = tool;
  const isHarmless = annotations.readOnlyHint === true || annotations.idempotentHint === true;
  return defineTool({
    name: toToolName(name),
    description,
    input,
    effect: isHarmless ? "idempotent" : "unsafe",
    run: async (input, turn) => call(await connection.client(), name, input, turn),
  });
}

function toSchema({ inputSchema }: McpTool, validator: AjvJsonSchemaValidator): Schema<Json> {
  const jsonSchema = inputSchema as JsonObject;
  let validate: ReturnType<AjvJsonSchemaValidator["getValidator"]> | undefined;
  return rawSchema(jsonSchema, (value) => {
    // Compiled when it is first needed: a server may have a hundred tools.
    validate ??= validator.getValidator(jsonSchema);
    return validate(value).errorMessage;
  });
}

async function call(client: Client, name: string, input: Json, turn: ToolTurn): Promise<Json> {
  const result = await client
    .callTool(
      { name, arguments: input as JsonObject },
      {
        signal: turn.signal,
        timeout: SILENCE_MS,
        resetTimeoutOnProgress: true,
        onprogress: (progress) => turn.progress(toLine(progress)),
      },
    )
    .catch((thrown: unknown) => {
      if ((thrown as { readonly code?: unknown } | null)?.code !== "CONNECTION_CLOSED") throw thrown;
      throw new Error(`the MCP server ended while ${name} was at work`, { cause: thrown });
    });
  const text = result.content.map(toText).join("\n");
  if (result.isError) throw new Error(text === "" ? `${name} failed` : text);
  return (result.structuredContent as Json | undefined) ?? text;
}

function toLine({ progress, total, message }: Progress): string {
  return message ?? (total === undefined ? String(progress) : `${progress} of ${total}`);
}

/** What a model can read of a part of a result. */
function toText(part: ContentBlock): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "resource_link":
      return `${part.name} ${part.uri}`;
    case "resource":
      return "text" in part.resource ? part.resource.text : part.resource.uri;
    case "image":
    case "audio":
      return `[${part.mimeType}]`;
    default: {
      const never: never = part;
      return never;
    }
  }
}
