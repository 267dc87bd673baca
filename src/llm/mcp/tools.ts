import type { Client, ContentBlock, Progress, Tool as McpTool } from "@modelcontextprotocol/client";
import type { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import type { QueueOptions } from "../../ports/model.ts";
import type { ReadinessProbe } from "../../ports/readiness.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Schema, Tool } from "../../runtime/agent/agent.ts";
import type { CallOptions } from "../../runtime/agent/call-options.ts";
import { defineTool } from "../../runtime/agent/definition/define.ts";
import type { ToolTurn } from "../../runtime/agent/turn-api.ts";
import { McpConnection, toStartError } from "./connection.ts";
import type { McpServer } from "./server.ts";
import { isLost } from "./transport.ts";
import { rawSchema } from "../prompt/raw-schema.ts";
import { toToolName } from "../prompt/tool-name.ts";

/** The tools of an MCP server and their shared connection. */
export interface McpTools {
  readonly tools: readonly Tool[];
  /** Closes the connection, and ends a program that was started for it. */
  close(): Promise<void>;
}

/** Which MCP server is used, and which of its tools. */
export interface McpToolsOptions extends CallOptions, QueueOptions {
  /** A call fails after this time without a message from the server, in milliseconds. Default 60,000. */
  readonly silenceMs?: number;
  /**
   * The server may take this time until it has introduced itself, and to list its tools, in milliseconds. Default 10,000; a
   * program that is installed by `npx` first may need more.
   */
  readonly connectMs?: number;
}

/**
 * Connects to an MCP server and converts its tools. When the server ends, running calls fail, and the next
 * call connects again. Needs the package `@modelcontextprotocol/client`, version 2.
 */
export async function mcpTools(
  server: McpServer,
  { silenceMs = 60_000, connectMs = 10_000, ...options }: McpToolsOptions = {},
): Promise<McpTools> {
  const connection = new McpConnection(server, connectMs);
  try {
    const { tools } = await connection.ask((client) => client.listTools({}, { timeout: connectMs }));
    const { AjvJsonSchemaValidator } = await import("@modelcontextprotocol/client/validators/ajv");
    const validator = new AjvJsonSchemaValidator();
    const shared = { connection, silenceMs, options, readiness: () => connection.readiness };
    return {
      tools: tools.map((tool) => toTool(tool, toSchema(tool, validator), shared)),
      close: () => connection.close(),
    };
  } catch (thrown) {
    await connection.close();
    throw toStartError(server, thrown);
  }
}

/** State that all tools of a server share. */
interface Shared {
  readonly connection: McpConnection;
  readonly silenceMs: number;
  readonly readiness: ReadinessProbe;
  /** The options of each tool; each has a queue of its own. */
  readonly options: CallOptions & QueueOptions;
}

function toTool(tool: McpTool, input: Schema<Json>, shared: Shared): Tool {
  const { connection, silenceMs, options, readiness } = shared;
  const { name, description = "", annotations = {} } = tool;
  const isHarmless = annotations.readOnlyHint === true || annotations.idempotentHint === true;
  return defineTool({
    ...options,
    readiness,
    name: toToolName(name),
    description,
    input,
    effect: isHarmless ? "idempotent" : "unsafe",
    async run(input, turn) {
      try {
        return await connection.ask((client) => call(client, { name, input, silenceMs }, turn));
      } catch (thrown) {
        throw toFault(name, thrown);
      }
    },
  });
}

function toSchema({ inputSchema }: McpTool, validator: AjvJsonSchemaValidator): Schema<Json> {
  const jsonSchema = inputSchema as JsonObject;
  let validate: ReturnType<AjvJsonSchemaValidator["getValidator"]> | undefined;
  return rawSchema(jsonSchema, (value) => {
    // Compiled on first use: a server can have a hundred tools.
    validate ??= validator.getValidator(jsonSchema);
    return validate(value).errorMessage;
  });
}

interface McpCall {
  readonly name: string;
  readonly input: Json;
  readonly silenceMs: number;
}

async function call(client: Client, { name, input, silenceMs }: McpCall, turn: ToolTurn): Promise<Json> {
  const result = await client.callTool(
    { name, arguments: input as JsonObject },
    {
      signal: turn.signal,
      timeout: silenceMs,
      resetTimeoutOnProgress: true,
      onprogress: (progress) => turn.progress(toLine(progress)),
    },
  );
  const text = result.content.map(toText).join("\n");
  if (result.isError) throw new Error(text === "" ? `${name} failed` : text);
  return (result.structuredContent as Json | undefined) ?? text;
}

/** Replaces errors of the package by clear ones. */
function toFault(name: string, thrown: unknown): unknown {
  if (isLost(thrown)) return new Error(`the MCP server ended during a call of ${name}`, { cause: thrown });
  // The error of `fetch` for a failed connection.
  if (thrown instanceof TypeError) return new Error("the MCP server cannot be reached", { cause: thrown });
  return thrown;
}

function toLine({ progress, total, message }: Progress): string {
  return message ?? (total === undefined ? String(progress) : `${progress} of ${total}`);
}

/** The text of a result part, for the model. */
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
